"""Training loops fork, use threads and reuse buffers: none of it may hang or crash a check."""

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

import tito_audit as tito
import zoo
from hammer import hammer
from reference import Reference
from sequences import Sequences

SECONDS = 120
SOURCE = zoo.zoo()["bytelevel_added"]


@pytest.fixture(scope="module")
def tok() -> tito.Tokenizer:
    return tito.load_tokenizer(Tokenizer.from_str(SOURCE))


@pytest.fixture(scope="module")
def rows() -> list[list[int]]:
    return [row.ids for row in Sequences(Reference(SOURCE).wheel, seed=8).rows(300)]


def verdict(rows: list[list[int]], tok: tito.Tokenizer, threads: int = 4) -> NDArray[np.bool_]:
    """Check rows, with all that comes along."""
    batch = tito.check_batch(rows, tok, mask=[[1] * len(row) for row in rows], threads=threads)
    tito.provenance_batch(rows, tok, threads=threads)
    assert str(batch[0])
    return batch.drifted


def in_child(tok: tito.Tokenizer, rows: list[list[int]], expected: NDArray[np.bool_]) -> None:
    """What a forked worker does; an exception becomes its exit code."""
    assert np.array_equal(verdict(rows, tok), expected)
    fresh = tito.load_tokenizer(Tokenizer.from_str(SOURCE))
    assert np.array_equal(verdict(rows, fresh), expected)


def fork(*args: object) -> None:
    """Run `in_child` in a forked process, within a time limit."""
    child = multiprocessing.get_context("fork").Process(target=in_child, args=args)
    child.start()
    child.join(SECONDS)
    if child.is_alive():
        child.kill()
        pytest.fail(f"the forked child still ran after {SECONDS} s")
    assert child.exitcode == 0


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_check_in_a_forked_child_after_threads_were_used(tok: tito.Tokenizer, rows: list[list[int]]) -> None:
    expected = verdict(rows, tok)
    fork(tok, rows, expected)
    assert np.array_equal(verdict(rows, tok), expected)


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_fork_while_other_threads_are_checking(tok: tito.Tokenizer, rows: list[list[int]]) -> None:
    expected = verdict(rows, tok)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            verdict(rows, tok)

    threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            fork(tok, rows, expected)
    finally:
        stop.set()
        for thread in threads:
            thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)


def test_eight_threads_at_once(tok: tito.Tokenizer, rows: list[list[int]]) -> None:
    expected = verdict(rows, tok)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(verdict, rows, tok, threads) for threads in (1, 2, 4, 8) * 4]
        assert all(np.array_equal(future.result(SECONDS), expected) for future in futures)


def test_the_gil_is_released(tok: tito.Tokenizer, rows: list[list[int]]) -> None:
    values = np.concatenate([np.array(row, dtype=np.int64) for row in rows] * 50)
    offsets = np.linspace(0, len(values), 100).astype(np.int64)
    thread = threading.Thread(target=tito.check_batch, args=((values, offsets), tok), kwargs={"threads": 1})
    started = time.monotonic()
    thread.start()
    ticks = 0
    while thread.is_alive():
        time.sleep(0.001)
        ticks += 1
    # With the GIL held this thread would have slept through all of it in one tick.
    assert ticks > 10, f"{ticks} ticks in {time.monotonic() - started:.2f} s"


def test_an_array_that_another_thread_keeps_changing(tok: tito.Tokenizer) -> None:
    assert hammer(tok, seconds=3) > 3
