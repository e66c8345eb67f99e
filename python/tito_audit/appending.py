"""A file of JSON lines that several processes append to, each of which may die at any moment."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tito_audit.forking import ForkLock

if sys.platform != "win32":
    import fcntl

_BLOCK = 1 << 16


class AppendFile:
    """Appends lines, each by one write: a line that `append` returned for is in the file, whole.

    The bytes are then the system's: the end of this process does not touch them, that of the machine does unless `sync`
    was called. Before a line is written, what a process that died left of its last line is cut off; a whole record that
    only lacks its newline is given one. Threads, forked children and other processes may append to the same file; where
    the system has no ``flock`` only one process may.

    Attributes:
        path: The file; it may be renamed at any time (`renamed`), and a new one begins.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, make it where there is none, and mend its last line.

        Raises:
            OSError: It cannot be opened.
        """
        self.path = path
        self._lock = ForkLock()
        self._fd = -1
        self._owner = 0
        with self._alone():
            pass

    def append(self, line: bytes) -> int:
        """Append a line.

        Args:
            line: With the newline at its end, and none inside.

        Returns:
            Bytes in the file with it.

        Raises:
            OSError: It was not written, or not whole; nothing of it is left in the file.
            ValueError: The file is closed.
        """
        with self._alone() as fd:
            before = os.fstat(fd).st_size
            try:
                written = os.write(fd, line)
            except OSError as error:
                error.filename = error.filename or str(self.path)
                raise
            if written != len(line):
                os.ftruncate(fd, before)
                raise OSError(errno.ENOSPC, f"only {written:,} of {len(line):,} bytes of a line fit", str(self.path))
            return before + written

    def sync(self) -> None:
        """Wait until the disk has what was appended.

        Raises:
            OSError: It does not.
            ValueError: The file is closed.
        """
        with self._alone() as fd:
            os.fsync(fd)

    def renamed(self, choose: Callable[[], Path]) -> Path | None:
        """Give the file another name while nobody writes to it; what is appended later begins a new file.

        Args:
            choose: Gives the name.

        Returns:
            The name; None where the file is empty and stays as it is.

        Raises:
            OSError: It cannot be renamed.
            ValueError: The file is closed.
        """
        with self._alone() as fd:
            if not os.fstat(fd).st_size:
                return None
            name = choose()
            self.path.rename(name)
            return name

    def close(self) -> None:
        """Close the file; doing so again does nothing."""
        with self._lock:
            self._forget()
            self._owner = -1

    def __reduce__(self) -> tuple[type[AppendFile], tuple[Path]]:
        """Open the file anew in another process."""
        return AppendFile, (self.path,)

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """Lend the open file, with a whole last line, while no other thread and no other process writes to it."""
        with self._lock:
            fd = self._locked()
            try:
                _mend_last_line(fd)
                yield fd
            finally:
                _unlock(fd)

    def _locked(self) -> int:
        """Open and lock what the path names now: another process may have renamed what was open."""
        while True:
            if self._owner == -1:
                raise ValueError(f"{self.path} is closed")
            if self._owner != os.getpid():  # a lock of the parent's would be shared, and exclude nobody
                self._forget()
                self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
                self._owner = os.getpid()
            _lock(self._fd)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._fd), self.path.stat()):
                    return self._fd
            _unlock(self._fd)
            self._owner = 0

    def _forget(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def _mend_last_line(fd: int) -> None:
    end = os.fstat(fd).st_size
    if not end or _read(fd, end - 1, end) == b"\n":
        return
    start, line = end, b""
    while start and b"\n" not in line:
        stop, start = start, max(0, start - _BLOCK)
        line = _read(fd, start, stop) + line
    line = line.rpartition(b"\n")[2]
    if _is_record(line):
        os.write(fd, b"\n")
    else:
        os.ftruncate(fd, end - len(line))


def _is_record(line: bytes) -> bool:
    """Whether a line is all there: no front of an object is one."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _read(fd: int, start: int, stop: int) -> bytes:
    os.lseek(fd, start, os.SEEK_SET)  # appending does not care
    return os.read(fd, stop - start)


if sys.platform != "win32":

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX)

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)

else:

    def _lock(fd: int) -> None:
        """Nothing there does."""

    def _unlock(fd: int) -> None:
        """Nothing there does."""
