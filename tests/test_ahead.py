from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.reading.ahead import Here, in_order


def ours() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tito-audit-ahead"]


def streams(lengths: list[int], failing: set[int], inline: set[int]) -> Iterator[Any]:
    for number, length in enumerate(lengths):

        def stream(number: int = number, length: int = length) -> Iterator[tuple[int, int]]:
            yield from ((number, item) for item in range(length))
            if number in failing:
                raise LookupError(number)

        yield Here(stream) if number in inline else stream


@given(
    lengths=st.lists(st.integers(0, 6), max_size=8),
    failing=st.sets(st.integers(0, 7), max_size=1),
    inline=st.sets(st.integers(0, 7)),
    workers=st.integers(1, 5),
    depth=st.integers(1, 3),
)
def test_items_and_exceptions_come_in_the_order_of_the_streams(
    lengths: list[int], failing: set[int], inline: set[int], workers: int, depth: int
) -> None:
    def run(workers: int, depth: int = 1) -> tuple[list[Any], Any]:
        found = []
        try:
            for item in in_order(streams(lengths, failing, inline), workers=workers, depth=depth):
                found.append(item)  # noqa: PERF402 - what came before an exception is kept
        except LookupError as error:
            return found, error.args
        return found, None

    broken = min((number for number in failing if number < len(lengths)), default=None)
    expected = [
        (number, item)
        for number, length in enumerate(lengths[: None if broken is None else broken + 1])
        for item in range(length)
    ]
    assert run(workers, depth) == (expected, None if broken is None else (broken,))
    assert not ours()


@given(lengths=st.lists(st.integers(0, 9), max_size=6), taken=st.integers(0, 20), workers=st.integers(1, 4))
def test_closing_early_leaves_no_thread_and_closes_what_was_begun(lengths: list[int], taken: int, workers: int) -> None:
    begun: set[int] = set()
    closed: set[int] = set()

    def stream(number: int, length: int) -> Callable[[], Iterator[int]]:
        def items() -> Iterator[int]:
            begun.add(number)
            try:
                yield from range(length)
            finally:
                closed.add(number)

        return items

    ahead = in_order((stream(number, length) for number, length in enumerate(lengths)), workers=workers)
    list(itertools.islice(ahead, taken))
    ahead.close()
    assert not ours()
    assert begun == closed


def test_one_worker_is_the_consumer_itself() -> None:
    threads = set()

    def stream() -> Iterator[int]:
        threads.add(threading.current_thread())
        yield 1

    assert list(in_order([stream, stream], workers=1)) == [1, 1]
    assert threads == {threading.current_thread()}


def test_streams_are_taken_as_they_are_needed_and_items_wait_in_bounded_numbers() -> None:
    made = 0
    taken = 0

    def stream() -> Iterator[int]:
        nonlocal made
        for item in range(1000):
            made += 1
            yield item

    def supply() -> Iterator[Callable[[], Iterator[int]]]:
        nonlocal taken
        for _ in range(50):
            taken += 1
            yield stream

    ahead = in_order(supply(), workers=3, depth=2)
    next(ahead)
    ahead.close()
    assert taken == 3
    assert made <= 3 * (2 + 2)


def test_a_thread_that_cannot_start_is_gone_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert list(in_order([lambda: iter([1, 2]), lambda: iter([3])], workers=3)) == [1, 2, 3]


def test_an_exception_in_the_consumer_stops_the_threads() -> None:
    endless = [itertools.count] * 3
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the loop is the consumer
        for _ in in_order(endless, workers=3):
            raise KeyboardInterrupt
    deadline = time.monotonic() + 30
    while ours() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not ours()


INTERRUPTED = """
import sys, threading, time
from contextlib import closing
from tito_audit.reading.ahead import in_order
def slow():
    while True:
        time.sleep(0.05)
        if threading.current_thread() is threading.main_thread(): print("wrong thread")
        if False: yield
try:
    with closing(in_order([slow, slow], workers=2)) as items:
        print("ready", flush=True)
        next(items)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_reaches_a_consumer_that_waits() -> None:
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        process.kill()
