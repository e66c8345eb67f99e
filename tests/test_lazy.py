"""Lazily computed properties."""

import threading

from tito_audit.lazy import lazy


class Counting:
    def __init__(self) -> None:
        self.computed = 0
        self.wait: threading.Event | None = None

    @lazy
    def value(self) -> int:
        """How often it was computed."""
        self.computed += 1
        if self.wait is not None:
            assert self.wait.wait(60)
        return self.computed


def test_it_is_computed_once_per_object() -> None:
    one, other = Counting(), Counting()
    assert (one.value, one.value, one.computed, other.computed) == (1, 1, 1, 0)
    assert Counting.value.__doc__ == "How often it was computed."


def test_a_thread_that_computes_blocks_no_other() -> None:
    slow, quick = Counting(), Counting()
    slow.wait = threading.Event()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    try:
        assert quick.value == 1
    finally:
        slow.wait.set()
        thread.join()
