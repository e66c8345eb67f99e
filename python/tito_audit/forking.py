"""Locks that no fork leaves behind: what they protect is whole in the child, and nobody holds them there."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

_locks: weakref.WeakSet[ForkLock] = weakref.WeakSet()
_held_for_fork: list[ForkLock] = []


class ForkLock:
    """A lock that a thread may take twice. A fork waits until it is free; to pickle it is to make another one.

    Two of them must not be held at once by one thread: a fork takes all of them, in no order.
    """

    def __init__(self) -> None:
        """Begin free."""
        self.lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        """Wait until no other thread has it."""
        self.lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the next thread have it."""
        self.lock.release()

    def __reduce__(self) -> tuple[type[ForkLock], tuple[()]]:
        """Begin free in another process."""
        return ForkLock, ()


def _before_fork() -> None:
    for each in list(_locks):
        each.lock.acquire()
        _held_for_fork.append(each)


def _after_fork() -> None:
    while _held_for_fork:
        _held_for_fork.pop().lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
