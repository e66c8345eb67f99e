"""Records as a file of JSON Lines."""

import json
from pathlib import Path
from typing import Any


def write(path: Path, *records: Any) -> str:
    """Write a record a line, and return the name of the file."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)
