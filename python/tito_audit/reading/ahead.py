"""Read ahead in threads, and yet see everything in its order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import Generic, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

Stream: TypeAlias = Callable[[], Iterator[T]]
"""Begins an iteration; it is called in the thread that iterates."""

_JOIN_SECONDS = 10.0
"""How long to wait for a thread that is told to stop: one read of a file, as a rule far less."""


class Here(NamedTuple, Generic[T]):
    """A stream that is iterated in the thread of the consumer, such as a generator of the user."""

    stream: Stream[T]


def in_order(streams: Iterable[Stream[T] | Here[T]], *, workers: int, depth: int = 2) -> Generator[T]:
    """Go through several streams, strictly one after the other, while threads read ahead in the next ones.

    An exception of a stream is raised where its next item would have been. Closing the generator, or an exception in
    the thread that iterates it, stops all threads: none is left when it is closed.

    Args:
        streams: The streams; taken from the iterable in the consumer's thread, at most ``workers`` ahead.
        workers: Threads. With 1 there is no thread at all: everything happens in the consumer's.
        depth: Items that each thread holds ready at most.
    """
    if workers <= 1:
        for stream in streams:
            yield from (stream.stream if isinstance(stream, Here) else stream)()
        return
    waiting = iter(streams)
    running: deque[_Ahead[T] | Here[T]] = deque()
    try:
        while True:
            running.extend(_started(stream, depth) for stream in islice(waiting, workers - len(running)))
            if not running:
                return
            first = running[0]
            yield from first.stream() if isinstance(first, Here) else first.items()
            running.popleft()
    finally:
        threads = [each for each in running if isinstance(each, _Ahead)]
        for each in threads:
            each.stop()
        for each in threads:
            each.join()


def _started(stream: Stream[T] | Here[T], depth: int) -> _Ahead[T] | Here[T]:
    if isinstance(stream, Here):
        return stream
    ahead = _Ahead(stream, depth)
    try:
        ahead.start()
    except RuntimeError:  # the system has no thread left: it goes without
        return Here(stream)
    return ahead


class _Ahead(Generic[T]):
    """One stream that a thread of its own iterates, a few items ahead."""

    def __init__(self, stream: Stream[T], depth: int) -> None:
        self._stream = stream
        self._depth = depth
        self._ready: deque[T] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._stopped = False
        self._error: BaseException | None = None
        # A daemon: a read that hangs for ever must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="tito-audit-ahead", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def items(self) -> Iterator[T]:
        """What the thread reads, for the consumer."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._ended)
                if not self._ready:
                    break
                item = self._ready.popleft()
                self._changed.notify_all()
            yield item
        self.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def join(self) -> None:
        self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        try:
            self._iterate()
        except BaseException as error:  # noqa: BLE001 - raised again where the consumer meets it
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _iterate(self) -> None:
        stream = self._stream()
        try:
            for item in stream:
                with self._changed:
                    self._changed.wait_for(lambda: self._stopped or len(self._ready) < self._depth)
                    if self._stopped:
                        return
                    self._ready.append(item)
                    self._changed.notify_all()
        finally:
            close = getattr(stream, "close", None)  # a file that it holds open is closed by this thread
            if close is not None:
                close()
