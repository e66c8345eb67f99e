"""Buffer, guard and recorder where training loops use them: threads, forks, event loops. No deadlock, nothing lost."""

import asyncio
import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tito_audit as tito
from tiny import load
from tito_audit.forking import ForkLock

TOK = load(["a", "aa", "b"], [("a", "a")])
ROWS = [[0, 0, 2], [1], [2, 2]]
TRAINED = [[1, 2], [1], [2, 2]]
SECONDS = 60
IN_FORK = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


class Loop:
    """One of each, shared by all workers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.guard = tito.DriftGuard(TOK, policy="drop")
        self.recorder = tito.Recorder(path, TOK)
        self.buffer = tito.RolloutBuffer()

    def work(self, times: int = 20) -> None:
        """What a worker does in a step, again and again."""
        for _ in range(times):
            assert self.guard.observe_batch(ROWS, train_ids=TRAINED).keep.tolist() == [1, 2]
            self.buffer.add_sampled([7, 8], [-0.5, -0.25])
            self.buffer.add_tool([9])
            columns = self.buffer.as_numpy()
            assert len({len(column) for column in columns.values()}) == 1
            own = tito.RolloutBuffer()
            own.add_sampled([0, 0], [-0.1, -0.2])
            self.recorder.append(own)

    def check(self, times: int, *, rows: int | None = None) -> None:
        """What is there after so many rounds of work in this process."""
        metrics = self.guard.metrics()
        assert metrics["tito/steps"] == times
        assert metrics["tito/rows"] == metrics["tito/rows_checked"] == 3 * times
        assert metrics["tito/code/TITO110"] == metrics["tito/rows_dropped"] == times
        assert self.recorder.flush() == times
        assert self.path.read_bytes().count(b"\n") == (times if rows is None else rows)
        assert len(self.buffer) == 3 * times
        assert self.buffer.mask.sum() == 2 * times
        assert (self.buffer.mask == (self.buffer.gen_steps >= 0)).all()
        assert self.buffer.gen_steps.max(initial=-1) == times - 1
        assert (self.buffer.ids[self.buffer.mask == 0] == 9).all()


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    return Loop(tmp_path / "r.jsonl")


def test_eight_threads(loop: Loop) -> None:
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(loop.work) for _ in range(16)]:
            future.result(SECONDS)
    loop.check(16 * 20)


def test_coroutines_and_their_threads(loop: Loop) -> None:
    async def work() -> None:
        for _ in range(10):
            loop.work(1)
            await asyncio.sleep(0)
            await asyncio.to_thread(loop.work, 1)

    async def all_of_them() -> None:
        await asyncio.wait_for(asyncio.gather(*(work() for _ in range(8))), SECONDS)

    asyncio.run(all_of_them())
    loop.check(8 * 20)


def in_child(work: Callable[[], None]) -> None:
    """Run something in a forked child, within a time limit."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(SECONDS)
    if child.is_alive():
        child.kill()
        pytest.fail(f"the forked child still ran after {SECONDS} s")
    assert child.exitcode == 0


@IN_FORK
def test_a_forked_child_goes_on_with_a_copy_of_the_counts(loop: Loop) -> None:
    loop.work()

    def child() -> None:
        loop.work()
        loop.check(40)

    in_child(child)
    loop.check(20, rows=40)
    loop.work()
    loop.check(40, rows=60)


@IN_FORK
def test_forks_while_other_threads_are_at_it(loop: Loop) -> None:
    stop = threading.Event()
    rounds = []

    def busy() -> None:
        done = 0
        while not stop.is_set():
            loop.work(1)
            done += 1
        rounds.append(done)

    def child() -> None:
        # What the parent's threads were in the middle of is whole here: no step is counted by half.
        before = loop.guard.metrics()
        assert before["tito/rows"] == 3 * before["tito/steps"] == 3 * before["tito/code/TITO110"]
        loop.work(5)
        assert loop.guard.metrics()["tito/steps"] == before["tito/steps"] + 5

    threads = [threading.Thread(target=busy, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            in_child(child)
    finally:
        stop.set()
        for thread in threads:
            thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    loop.check(sum(rounds), rows=sum(rounds) + 50)


def test_a_thread_may_take_a_lock_twice_and_no_other_has_it_meanwhile() -> None:
    lock = ForkLock()
    total = np.zeros(1, dtype=np.int64)

    def add() -> None:
        for _ in range(2000):
            with lock, lock:
                total[0] = total[0] + 1

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(add) for _ in range(8)]:
            future.result(SECONDS)
    assert total[0] == 16_000
