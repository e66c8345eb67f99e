"""The package of strategies without the extra that it needs."""

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["hypothesis"] = None
import tito_audit
try:
    import tito_audit.strategies
except tito_audit.MissingExtraError as error:
    print(error)
"""


def test_a_missing_extra_is_named() -> None:
    ran = subprocess.run((sys.executable, "-c", SCRIPT), capture_output=True, check=True, text=True)
    assert "tito_audit.strategies" in ran.stdout
    assert 'pip install "tito_audit[test]"' in ran.stdout
