"""What the README shows is what the product does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import make_examples
import tito_audit as tito

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8") if README.exists() else ""
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


def without_timing(line: str) -> str:
    return re.sub(r"in [\d.]+ s$", "in ? s", line)


@pytest.mark.parametrize("block", [body for _, body in BLOCKS if body.startswith("$ tito-audit")])
def test_shown_output_is_real(block: str, tmp_path: Path) -> None:
    command, *shown = block.splitlines()
    make_examples.write(tmp_path / "examples" / "out")
    arguments = command.removeprefix("$ tito-audit ").split()
    done = subprocess.run(
        [sys.executable, "-m", "tito_audit", *arguments], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    printed = [without_timing(line) for line in done.stdout.splitlines()]
    at = 0
    for line in filter(None, map(without_timing, shown)):
        assert line in printed[at:], f"the README shows a line that is not printed (or not there): {line}"
        at = printed.index(line, at) + 1


def test_every_name_in_the_python_blocks_exists() -> None:
    python = "\n".join(body for language, body in BLOCKS if language == "python")
    names = set(re.findall(r"\btito\.(\w+)", python))
    assert {"check", "audit", "assert_no_drift"} <= names
    assert all(hasattr(tito, name) for name in names), names
    assert set(re.findall(r"\br\.(\w+)", python)) <= set(dir(tito.Check))
    assert set(re.findall(r"\bb\.(\w+)", python)) <= set(dir(tito.Batch))


def test_the_targets_it_names_exist() -> None:
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", TEXT, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
