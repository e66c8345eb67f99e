"""Guard, buffer and recorder inside a real Ray actor; skipped where there is no ray."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tito_audit as tito
from tiny import load

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("default")  # what ray and its dependencies warn of is their business


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


class Worker:
    """A rollout worker, as an actor has it."""

    def __init__(self, guard: tito.DriftGuard, recorder: tito.Recorder, buffer: tito.RolloutBuffer) -> None:
        self.guard, self.recorder, self.buffer = guard, recorder, buffer

    def step(self, number: int) -> list[int]:
        self.buffer.add_sampled([0, 0], [-0.1, -0.2])
        self.recorder.append(self.buffer, id=number)
        keep: list[int] = self.guard.observe_batch([[0, 0], [1]], train_ids=[[1], [1]]).keep.tolist()
        return keep

    async def later(self, number: int) -> list[int]:
        return self.step(number)

    def state(self) -> tuple[dict[str, float], int, tito.RolloutBuffer]:
        return self.guard.metrics(), self.recorder.flush(fsync=True), self.buffer


@pytest.mark.parametrize("options", [{}, {"max_concurrency": 8}], ids=["plain", "eight at once"])
@pytest.mark.parametrize("method", ["step", "later"])
@pytest.mark.usefixtures("cluster")
def test_in_two_actors_with_one_file(options: dict[str, Any], method: str, tmp_path: Path) -> None:
    tok = load(["a", "aa", "b"], [("a", "a")])
    path = tmp_path / "r.jsonl"
    recorder = tito.Recorder(path, tok)
    # An actor with a coroutine runs all of its methods on an event loop; without one, on threads.
    kind = Worker if method == "later" else type("Threaded", (Worker,), {"later": None})
    actor = ray.remote(kind).options(**options)
    workers = [actor.remote(tito.DriftGuard(tok, policy="drop"), recorder, tito.RolloutBuffer()) for _ in range(2)]
    calls = [getattr(worker, method).remote(number) for number in range(50) for worker in workers]
    assert ray.get(calls, timeout=120) == [[1]] * 100
    for worker in workers:
        metrics, rows, buffer = ray.get(worker.state.remote(), timeout=60)
        assert metrics["tito/rows_dropped"] == rows == 50
        assert metrics["tito/rows"] == len(buffer) == 100
    assert tito.audit(path, tok).statistics.rows_checked == 100
