"""What a name stands for (file, pattern, folder, stdin), and the shape in which every source gives its records."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from tito_audit.errors import RecordError
from tito_audit.printable import clipped, counted, inert

Record: TypeAlias = Mapping[str, Any]
"""Column name to value."""

STDIN = "-"

_FORMATS = (".jsonl", ".ndjson", ".json")
_COMPRESSED = ("", ".gz", ".zst", ".zstd")
_ENDINGS = (
    *(each + packed for each in _FORMATS for packed in _COMPRESSED),
    *(".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc"),
)
_PICKLES = (".pt", ".pth", ".pkl", ".pickle")
# JSON that lies beside rollouts and holds none: what datasets and tokenizers are saved with.
_NO_ROLLOUTS = {
    *("dataset_info.json", "state.json", "dataset_dict.json", "dataset_infos.json"),
    *("config.json", "generation_config.json", "preprocessor_config.json", "chat_template.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json"),
}
_NAMED_FILES = 3
_NAME_CELLS = 60


class Read(NamedTuple):
    """One record of a source.

    Attributes:
        number: Line of the file, or row of the table, counted from 1.
        record: The record, or what is wrong with it.
        origin: What a clean copy of it is made of: the bytes of the line with its break, or
            ``(pyarrow.RecordBatch, index)``; None where nobody asked, or the record was in memory.
    """

    number: int
    record: Record | RecordError
    origin: object = None


class Records(Protocol):
    """The records of one source, to be iterated once."""

    def narrow(self, names: Collection[str], needed: Collection[str] = ()) -> None:
        """From now on decode only these columns, as far as that is cheaper.

        Args:
            names: Columns; a path (``response.ids``) stands for the column it begins in.
            needed: Those that a record has to have: one that lacks any is given whole, so that its columns are known.
        """

    def __iter__(self) -> Iterator[Read]:
        """Go through the records.

        Raises:
            SourceError: The source cannot be read, or not to its end.
        """


class Folder(NamedTuple):
    """What was found in a folder and the folders in it, sorted; hidden names are passed over.

    Attributes:
        files: Files that look like rollouts, by their names.
        left_out: The others.
        problems: Folders that cannot be listed, and why.
    """

    files: list[str]
    left_out: list[str]
    problems: list[str]

    def note(self, path: str) -> str | None:
        """Say which files of the folder were left out, without the folder's name; None where there are none."""
        if not self.left_out:
            return None
        # Pickles are likely to be the rollouts themselves: they come first.
        pickles = [each for each in self.left_out if each.lower().endswith(_PICKLES)]
        first = list(dict.fromkeys([*pickles, *self.left_out]))[:_NAMED_FILES]
        names = ", ".join(clipped(inert(os.path.relpath(each, path)), _NAME_CELLS) for each in first)
        more = ", ..." if len(self.left_out) > len(first) else ""
        verb = "was" if len(self.left_out) == 1 else "were"
        note = f"{counted(len(self.left_out), 'other file')} {verb} left out ({names}{more})"
        if pickles:
            number = "one of them is a pickle" if len(pickles) == 1 else f"{len(pickles):,} of them are pickles"
            note += f"; {number}, which is never loaded here: write JSON Lines or Parquet instead"
        return note


def expand(pattern: str | os.PathLike[str]) -> list[str]:
    """Return the files that a name stands for, sorted.

    Args:
        pattern: A file, a pattern, a folder, or ``-`` for stdin. What is none, or matches nothing, stands for itself.
    """
    return [file for path in matches(pattern) for file in (look_into(path).files if is_folder(path) else ()) or (path,)]


def matches(pattern: str | os.PathLike[str]) -> list[str]:
    """Return the files and folders that a pattern names, sorted; what is no pattern, or matches nothing, as it is."""
    path = os.fsdecode(pattern)
    if not glob.has_magic(path) or os.path.lexists(path):
        return [path]
    try:
        found = _walked(path) if "**" in Path(path).parts else glob.glob(path)  # noqa: PTH207 - knows absolute patterns
        return sorted(found) or [path]
    except ValueError:  # a null byte: whoever opens the file says so
        return [path]


def _walked(pattern: str) -> Iterator[str]:
    """Go through what a pattern with ``**`` names. Unlike glob's own, this never runs in circles through links."""
    parts = Path(pattern).parts
    at = parts.index("**")
    for start in glob.glob(os.path.join(*parts[:at])) if at else ("",):  # noqa: PTH118, PTH207 - odd names
        for folder, folders, files in os.walk(start or "."):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in (*files, *folders):
                inside = os.path.relpath(os.path.join(folder, name), start or ".")  # noqa: PTH118
                if not name.startswith(".") and _fits(Path(inside).parts, parts[at:]):
                    yield os.path.join(start, inside)  # noqa: PTH118


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Say whether a path fits a pattern, both in parts; ``**`` stands for any number of folders, none included."""
    if not parts:
        return not names
    if parts[0] == "**":
        return _fits(names, parts[1:]) or (bool(names) and _fits(names[1:], parts))
    return bool(names) and fnmatch.fnmatchcase(names[0], parts[0]) and _fits(names[1:], parts[1:])


def is_folder(path: str) -> bool:
    """Whether a name is that of a folder; what is no name at all is none."""
    try:
        return os.path.isdir(path)  # noqa: PTH112 - odd names
    except ValueError:
        return False


def look_into(folder: str) -> Folder:
    """List a folder and all folders in it. Links are followed, each folder is visited once."""
    found = Folder([], [], [])
    seen: set[tuple[int, int]] = set()

    def unlisted(error: OSError) -> None:
        found.problems.append(f"{inert(os.fsdecode(error.filename))}: cannot be listed ({error.strerror or error})")

    for path, folders, files in os.walk(folder, followlinks=True, onerror=unlisted):
        try:
            status = os.stat(path)  # noqa: PTH116 - odd names
        except OSError as error:
            unlisted(error)
            folders.clear()
            continue
        if (status.st_dev, status.st_ino) in seen:  # a link that leads back
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        cached = "state.json" in files
        for name in files:
            if not name.startswith("."):
                rollouts = _looks_like_rollouts(name) and not (cached and name.startswith("cache-"))
                rollouts = rollouts and os.path.isfile(os.path.join(path, name))  # noqa: PTH113, PTH118 - and no pipe
                (found.files if rollouts else found.left_out).append(os.path.join(path, name))  # noqa: PTH118
    found.files.sort()
    found.left_out.sort()
    return found


def _looks_like_rollouts(name: str) -> bool:
    return name.lower().endswith(_ENDINGS) and name not in _NO_ROLLOUTS
