"""One file, or stdin: opened, told apart by its first bytes, and handed to whoever reads its format."""

from __future__ import annotations

import glob
import io
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any

from tito_audit.errors import SourceError
from tito_audit.printable import inert
from tito_audit.reading.arrow import ArrowFile, ArrowStream, Parquet
from tito_audit.reading.compressed import DamagedError, Decompressed
from tito_audit.reading.jsonlines import JsonLines
from tito_audit.reading.magic import HEAD, kind_of, refusal
from tito_audit.reading.sources import STDIN, Read, Records

_BUFFER = 1 << 17


class FileRecords:
    """The records of one file; it is opened, and its format found, by iterating.

    Attributes:
        path: Name of the file.
    """

    def __init__(
        self,
        path: str,
        *,
        keep_origin: bool = False,
        on_read: Callable[[int], None] | None = None,
        workers: int = 1,
    ) -> None:
        """Name the file.

        Args:
            path: The file; ``-`` is stdin.
            keep_origin: Give each record with what a clean copy of it is made of.
            on_read: Told how many bytes of the file were read since it was told last.
            workers: Threads that may decode parts of the file, where its format has parts.
        """
        self.path = path
        self._keep_origin = keep_origin
        self._on_read = on_read or (lambda _: None)
        self._workers = workers
        self._records: Records | None = None
        self._narrowed: tuple[Collection[str], Collection[str]] | None = None

    def narrow(self, names: Collection[str], needed: Collection[str] = ()) -> None:
        """From now on decode these columns only; see `Records`."""
        self._narrowed = (names, needed)
        if self._records is not None:
            self._records.narrow(names, needed)

    def __iter__(self) -> Iterator[Read]:
        """Go through the records.

        Raises:
            SourceError: The file cannot be read, or not to its end, or it is of a format that is not read.
        """
        try:
            with HeadedFile(_opened(self.path), self._on_read) as file:
                self._records = self._reader(file)
                if self._narrowed is not None:
                    self._records.narrow(*self._narrowed)
                yield from self._records
        except OSError as error:
            raise SourceError(f"{inert(self.path)}: cannot be read ({error.strerror or error})") from error

    def _reader(self, file: HeadedFile) -> Records:
        kind = kind_of(file.head)
        packed = kind if kind in {"gzip", "zstd"} else None
        if kind == "gzip" or kind == "zstd":  # noqa: PLR1714 - the type checker follows this
            file = HeadedFile(Decompressed(file, kind, self.path))
            kind = kind_of(file.head)
            if kind in {"gzip", "zstd"}:
                raise self._refused(f"compressed twice ({packed}, then {kind}); unpack it once")
        what = refusal(file.head) if kind == "lines" else None
        if what is not None:
            raise self._refused(what)
        if kind == "parquet":
            if packed or not file.seekable():
                where = f"inside {packed}" if packed else "from a pipe"
                raise self._refused(f"Parquet cannot be read {where}: its index is at the end; name the file itself")
            return Parquet(self.path, self._reopened(), **self._options(), workers=self._workers)
        if kind == "arrow file" and not packed and file.seekable():
            return ArrowFile(self.path, self._reopened(), **self._options())
        buffered = io.BufferedReader(file, _BUFFER)
        if kind in {"arrow file", "arrow stream"}:
            return ArrowStream(self.path, buffered, keep_origin=self._keep_origin, is_file=kind == "arrow file")
        return JsonLines(self.path, buffered, file.head, keep_origin=self._keep_origin)

    def _options(self) -> dict[str, Any]:
        return {"keep_origin": self._keep_origin, "on_read": self._on_read}

    def _reopened(self) -> bytes:
        """Name of the file for a reader that opens it again, once per thread."""
        return b"/dev/stdin" if self.path == STDIN else os.fsencode(self.path)

    def _refused(self, what: str) -> SourceError:
        return SourceError(f"{inert(self.path)}: {what}")


class HeadedFile(io.RawIOBase):
    """A stream whose first bytes can be looked at before they are read.

    Attributes:
        head: The first bytes; fewer than `HEAD` only where the stream has no more.
    """

    def __init__(self, file: Any, on_read: Callable[[int], None] = lambda _: None) -> None:  # noqa: ANN401
        """Look at the first bytes of a stream, which is closed with this one.

        Args:
            file: A raw or buffered stream.
            on_read: Told the length of every piece that is read.
        """
        self._file = file
        self._on_read = on_read
        self._read_some = getattr(file, "readinto1", file.readinto)  # of a pipe: what there is
        self.head = b""
        self._damage: DamagedError | None = None
        try:
            while len(self.head) < HEAD:
                piece = bytearray(HEAD - len(self.head))
                size = self._read_some(piece) or 0
                if not size:
                    break
                self.head += bytes(piece[:size])
        except DamagedError as error:
            if not self.head:
                file.close()
                raise
            self._damage = error  # what could be unpacked before is read first
        except BaseException:
            file.close()
            raise
        self._unread = self.head

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Whether the file can be read in any order, by whoever opens it again."""
        return bool(self._file.seekable())

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - any writable buffer
        """Read a piece."""
        if self._unread:
            size = min(len(buffer), len(self._unread))
            buffer[:size] = self._unread[:size]
            self._unread = self._unread[size:]
        elif self._damage is not None:
            raise self._damage
        else:
            size = self._read_some(buffer) or 0
        self._on_read(size)
        return size

    def close(self) -> None:
        """Close the stream too."""
        if not self.closed:
            self._file.close()
        super().close()


def is_regular(path: str) -> bool:
    """Whether a name is that of a plain file, which never keeps a reader waiting for somebody to write."""
    try:
        return path != STDIN and stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - odd names
    except (OSError, ValueError):
        return False


def _opened(path: str) -> io.RawIOBase | io.BufferedIOBase:
    name = inert(path)
    if path == STDIN:
        if sys.stdin is None or sys.stdin.closed:
            raise SourceError("-: stdin is closed")
        return _Kept(getattr(sys.stdin, "buffer", sys.stdin))
    try:
        # Names are bytes for the system; what is no UTF-8 in them survives the trip.
        return open(os.fsencode(path), "rb", buffering=0)  # noqa: PTH123 - a Path cannot hold bytes
    except FileNotFoundError as error:
        if glob.has_magic(path):
            raise SourceError(f"{name}: the pattern matches no file") from error
        raise
    except IsADirectoryError as error:
        raise SourceError(f"{name}: is a folder") from error
    except ValueError as error:  # a null byte, say
        raise SourceError(f"{name}: no name of a file ({error})") from error


class _Kept(io.RawIOBase):
    """Stdin, which stays open for whoever else wants it."""

    def __init__(self, file: Any) -> None:  # noqa: ANN401 - whatever stands for stdin
        self._file = file
        self._read_some = getattr(file, "readinto1", file.readinto)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        # What stands for stdin in a test is no file that could be opened again.
        try:
            return stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        except (OSError, ValueError):
            return False

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - any writable buffer
        return int(self._read_some(buffer) or 0)
