"""What a training step pays for its guard: 64 trajectories of 8,192 tokens, all of them looked at, in one thread.

Each round gets a batch that the process has not seen, the median over 20 rounds counts. A batch is handed over as
numpy arrays with masks; ``spans`` is the number of drift spans per 1,000 tokens. What was trained is nothing, the
sampled ids, or what they re-encode to. `recording` appends one such trajectory to a file.
"""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from tokenizers import Tokenizer

import tito_audit as tito
import zoo
from beside import texts

ROWS, TOKENS, ROUNDS = 64, 8192, 20
ROW_TEXTS = 4
"""Texts that make a row, nearly always."""
MASK = (np.arange(TOKENS) // 64 % 2).astype(np.uint8)


@pytest.fixture(scope="module")
def wheel() -> Tokenizer:
    """A small tokenizer, or the one whose file ``TITO_BENCH_TOKENIZER`` names."""
    path = os.environ.get("TITO_BENCH_TOKENIZER")
    return Tokenizer.from_file(path) if path else Tokenizer.from_str(zoo.zoo()["bytelevel_gpt2"])


@pytest.fixture(scope="module")
def tok(wheel: Tokenizer) -> tito.Tokenizer:
    return tito.load_tokenizer(wheel)


class Batches:
    """Python source, some tokens of it spelled in two."""

    def __init__(self, wheel: Tokenizer, spans: int) -> None:
        self.wheel = wheel
        self.texts = itertools.cycle(texts.code())
        vocab = wheel.get_vocab()
        self.halves = {
            id_: (vocab[piece[:1]], vocab[piece[1:]])
            for piece, id_ in vocab.items()
            if len(piece) > 1 and piece[:1] in vocab and piece[1:] in vocab
        }
        self.spans = spans

    def row(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        parts: list[str] = []
        ids: list[int] = []
        while len(ids) < TOKENS + 100:
            parts += itertools.islice(self.texts, 1 if ids else ROW_TEXTS)
            ids = self.wheel.encode("\n".join(parts), add_special_tokens=False).ids
        for place in range(0, TOKENS, 1000 // self.spans if self.spans else TOKENS + 1):
            while ids[place] not in self.halves:
                place += 1  # noqa: PLW2901 - the next token that can be spelled in two
            ids[place : place + 1] = self.halves[ids[place]]
        return np.array(ids[:TOKENS])

    def batch(self) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
        return [self.row() for _ in range(ROWS)]


@pytest.mark.parametrize("spans", [0, 5])
@pytest.mark.parametrize("trained", ["nothing", "sampled", "re-encoded"])
def test_a_step(benchmark: BenchmarkFixture, wheel: Tokenizer, tok: tito.Tokenizer, trained: str, spans: int) -> None:
    batches = Batches(wheel, spans)
    guard = tito.DriftGuard(tok, policy="log", every=1, fraction=1.0)

    def setup() -> tuple[tuple[Any, ...], dict[str, Any]]:
        rows = batches.batch()
        given: dict[str, Any] = {"mask": [MASK.copy() for _ in rows]}
        if trained == "sampled":
            given |= {"train_ids": [row.copy() for row in rows], "train_mask": [MASK.copy() for _ in rows]}
        elif trained == "re-encoded":
            # By another tokenizer object: ours has not seen the rows.
            again = [wheel.encode(wheel.decode(row.tolist()), add_special_tokens=False).ids for row in rows]
            given |= {"train_ids": [np.array(ids) for ids in again]}
        return (rows,), given

    def step(rows: Any, **given: Any) -> int:
        seen = guard.observe_batch(rows, **given)
        assert len(seen.observed) == ROWS
        return len(seen.keep)

    benchmark.pedantic(  # type: ignore[no-untyped-call]  # pytest-benchmark carries no types
        step, setup=setup, rounds=ROUNDS, warmup_rounds=1
    )
    metrics = guard.metrics(prefix="")
    found = metrics.get("code/TITO101", 0)
    benchmark.extra_info["rows_checked"] = metrics["rows_checked"]
    assert (found > 0) == (spans > 0) or not spans
    assert not spans or metrics["drift_row_rate"] == 1.0


def test_recording(benchmark: BenchmarkFixture, wheel: Tokenizer, tok: tito.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    ids = Batches(wheel, 0).row()
    buffer = tito.RolloutBuffer()
    buffer.add_prompt(ids[:1000])
    buffer.add_sampled(ids[1000:], -np.random.default_rng(0).exponential(size=TOKENS - 1000))
    with tito.Recorder(path, tok) as recorder:
        benchmark.pedantic(  # type: ignore[no-untyped-call]  # as above
            recorder.append, args=(buffer,), rounds=ROUNDS, warmup_rounds=1
        )
    assert json.loads(path.read_bytes().splitlines()[-1])["token_ids"] == ids.tolist()
