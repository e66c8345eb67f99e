"""Locks that no fork leaves behind: what they protect is whole in the child, and nobody holds them there."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

# Listing a plain dict is one step, whatever other threads add meanwhile.
_locks: dict[int, weakref.ref[ForkLock]] = {}
_held_for_fork: list[ForkLock] = []


class ForkLock:
    """A lock that a thread may take twice. A fork waits until it is free; to pickle it is to make another one.

    One thread must not hold two of them, since a fork takes all; only an outer one may be held while another is taken.

    Attributes:
        lock: What it is made of.
        outer: A fork takes it before all that are not.
    """

    def __init__(self, *, outer: bool = False) -> None:
        """Begin free."""
        self.lock = threading.RLock()
        self.outer = outer
        key = id(self)
        _locks[key] = weakref.ref(self, lambda _: _locks.pop(key, None))

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
    alive = [lock for lock in (ref() for ref in list(_locks.values())) if lock is not None]
    for each in sorted(alive, key=lambda lock: not lock.outer):
        each.lock.acquire()
        _held_for_fork.append(each)


def _after_fork() -> None:
    while _held_for_fork:
        _held_for_fork.pop().lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
