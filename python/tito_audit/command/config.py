"""Options of the command from ``[tool.tito_audit]`` in the nearest ``pyproject.toml``."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tito_audit.errors import ConfigError
from tito_audit.printable import inert

_FILE = "pyproject.toml"


def read_config(start: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the table of the nearest file that has one, from a folder upwards; None where none has.

    Args:
        start: The folder to begin in.

    Returns:
        The file, and option to value, with underscores in the names.

    Raises:
        ConfigError: The file has a syntax error, or the table is none.
    """
    for folder in (start, *start.parents):
        path = folder / _FILE
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise ConfigError(f"{inert(str(path))}: cannot be read ({inert(str(error))})") from error
        tool = data.get("tool", {})
        if isinstance(tool, Mapping) and "tito_audit" in tool:
            table = tool["tito_audit"]
            if not isinstance(table, Mapping):
                raise ConfigError(f"{inert(str(path))}: [tool.tito_audit] is no table of options")
            return path, {name.replace("-", "_"): value for name, value in table.items()}
    return None


def defaults_of(config: tuple[Path, dict[str, Any]], allowed: Collection[str]) -> dict[str, Any]:
    """Return the options as defaults of the command.

    Args:
        config: What `read_config` returned.
        allowed: Names of the options that can stand in the file.

    Raises:
        ConfigError: There is no such option.
    """
    path, table = config
    unknown = sorted(table.keys() - set(allowed))
    if unknown:
        raise ConfigError(
            f"{inert(str(path))}: [tool.tito_audit] has no option {inert(unknown[0])} (there are "
            f"{', '.join(sorted(name.replace('_', '-') for name in allowed))})"
        )
    return {
        # A table such as max-rate = { TITO101 = 0.01 } is what the command line writes as CODE=RATE.
        name: [f"{key}={each}" for key, each in value.items()] if isinstance(value, Mapping) else value
        for name, value in table.items()
    }


def path_beside(path: Path, value: str) -> str:
    """Return a path that stands in the file as the folder that the command runs in has it.

    Args:
        path: The file.
        value: What stands there: a path, taken from the folder of the file.
    """
    # Only the way up is written anew: a link in the value keeps its meaning.
    return value if path.parent == Path.cwd() else os.path.join(os.path.relpath(path.parent), value)  # noqa: PTH118


def tokenizer_beside(path: Path, value: str) -> str:
    """Return a tokenizer that the file names as `load_tokenizer` takes it: a path as `path_beside` has it, or a hub id.

    Args:
        path: The file.
        value: What stands there.
    """
    from tito_audit.loading.hub import HubId, is_id  # noqa: PLC0415 - only a file that names a tokenizer needs it

    is_there = os.path.lexists(path.parent / value)
    return HubId(value) if not is_there and is_id(value, path.parent) else path_beside(path, value)
