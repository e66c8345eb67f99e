"""Runs of pytest with the plugin, in folders of their own."""

import os
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

import tito_audit

MODULE = "_tito_audit_pytest"
INSTALLED = any(entry.value == MODULE for entry in entry_points(group="pytest11"))
"""An environment that was made before the package had a plugin does not know it."""


def environment(**more: str) -> Mapping[str, str]:
    """Variables for a plain run: this package, the plugin as if installed, and nothing of the run that asks."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COLUMNS", "TITO_"))}
    home = {"PYTHONPATH": str(Path(tito_audit.__file__).parent.parent)}
    return own | home | ({} if INSTALLED else {"PYTEST_PLUGINS": MODULE}) | more
