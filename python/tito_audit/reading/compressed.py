"""Compressed files as streams: gzip and zstd, several members or frames one after the other, damage said in words."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from tito_audit.errors import SourceError
from tito_audit.printable import inert

Compression: TypeAlias = Literal["gzip", "zstd"]

# A hostile file expands a kilobyte to tens of megabytes: what is unpacked at once has to be small.
_CHUNK = 4096


class DamagedError(OSError):
    """Compressed data that is cut off or corrupt; what came before it was read."""


class _Decompressor(Protocol):
    """One member: what `zlib.decompressobj`, zstandard and the standard library's zstd have in common."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""

    @property
    def unused_data(self) -> bytes:
        """What follows it."""

    def decompress(self, data: bytes, /) -> bytes:
        """Unpack the next bytes."""


class Decompressed(io.RawIOBase):
    """The content of a compressed stream; the stream is closed with it."""

    def __init__(self, file: io.RawIOBase | io.BufferedIOBase, kind: Compression, path: str) -> None:
        """Unpack a stream.

        Args:
            file: The compressed bytes.
            kind: How they are compressed.
            path: Name of the file, for the message.

        Raises:
            SourceError: Nothing installed can unpack it.
        """
        self._file = file
        self._kind = kind
        self._start, self._errors = _opened(kind, path)
        self._member: _Decompressor | None = None
        self._members = 0
        self._pending = b""
        self._out = memoryview(b"")

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - any writable buffer
        """Fill a buffer as far as the next piece goes.

        Raises:
            DamagedError: The data is cut off or corrupt here.
        """
        while not self._out:
            data = self._pending or self._file.read(_CHUNK) or b""
            self._pending = b""
            if not data:
                if self._member is not None:
                    raise DamagedError(f"damaged {self._kind}: it is cut off")
                return 0
            self._out = memoryview(self._unpacked(data))
        size = min(len(buffer), len(self._out))
        buffer[:size] = self._out[:size]
        self._out = self._out[size:]
        return size

    def close(self) -> None:
        """Close the compressed stream too."""
        if not self.closed:
            self._file.close()
        super().close()

    def _unpacked(self, data: bytes) -> bytes:
        if self._member is None:
            if self._kind == "gzip" and self._members:
                data = data.lstrip(b"\0")  # tapes and some tools pad behind a member
            if not data:
                return b""
            self._member = self._start()
            self._members += 1
        try:
            out = self._member.decompress(data)
        except self._errors as error:
            what = "damaged" if self._members == 1 else "damaged, or followed by something else:"
            raise DamagedError(f"{what} {self._kind} ({inert(str(error))})") from error
        if self._member.eof:
            self._pending = self._member.unused_data
            self._member = None
        return out


def _opened(kind: Compression, path: str) -> tuple[Callable[[], Any], tuple[type[Exception], ...]]:
    """Return what begins a member, and what it raises."""
    if kind == "gzip":
        return lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), (zlib.error,)
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415 - Python 3.14
    except ImportError:
        pass
    else:
        return zstd.ZstdDecompressor, (zstd.ZstdError, EOFError)
    try:
        import zstandard  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise SourceError(
            f'{inert(path)}: zstd-compressed, which needs zstandard: pip install "tito_audit[zstd]"'
        ) from error
    return zstandard.ZstdDecompressor().decompressobj, (zstandard.ZstdError,)
