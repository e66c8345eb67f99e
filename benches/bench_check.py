"""End to end: a JSON Lines file audited, a batch checked, and the wheel's own round trip beside them (`make bench`).

Every round gets rows that were not seen before in the process, and the answers are read inside the timed part. The
extra column ``tokens`` says how many tokens a round has.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from tokenizers import Tokenizer

import tito_audit as tito
import zoo

ROWS = 100
ROUNDS = 5
WORDS = zoo.TEXT.split()
KIND = "bytelevel_cl100k"

wheel = Tokenizer.from_str(zoo.zoo()[KIND])
rng = np.random.default_rng(0)


def rows() -> list[list[int]]:
    """Fresh rows of some 1,800 tokens: the corpus' words in another order, every 200th id spelled in two."""
    pieces = {token: piece for piece, token in wheel.get_vocab().items()}
    vocab = wheel.get_vocab()
    out = []
    for _ in range(ROWS):
        text = " ".join(WORDS[i] for i in rng.integers(len(WORDS), size=600))
        ids: list[int] = []
        for position, token in enumerate(wheel.encode(text, add_special_tokens=False).ids):
            piece = pieces[token]
            if position % 200 == 0 and piece[:1] in vocab and piece[1:] in vocab:
                ids += [vocab[piece[:1]], vocab[piece[1:]]]
            else:
                ids.append(token)
        out.append(ids)
    return out


def masks(batch: list[list[int]]) -> list[list[int]]:
    return [[position // 64 % 2 for position in range(len(ids))] for ids in batch]


def timed(benchmark: BenchmarkFixture, function: Any, prepare: Any) -> Any:
    """Time a function on what `prepare` makes anew for each round; it also says how many tokens that is."""

    def setup() -> tuple[tuple[Any, ...], dict[str, Any]]:
        tokens, arguments = prepare()
        benchmark.extra_info["tokens"] = tokens
        return arguments, {}

    return benchmark.pedantic(  # type: ignore[no-untyped-call]  # pytest-benchmark carries no types
        function, setup=setup, rounds=ROUNDS, warmup_rounds=1
    )


@pytest.fixture(scope="module")
def tok(tmp_path_factory: pytest.TempPathFactory) -> tito.Tokenizer:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    path.write_text(zoo.zoo()[KIND], encoding="utf-8")
    return tito.load_tokenizer(path)


def test_reference_round_trip_of_the_wheel(benchmark: BenchmarkFixture) -> None:
    def prepare() -> tuple[int, tuple[list[list[int]]]]:
        batch = rows()
        return sum(map(len, batch)), (batch,)

    def round_trip(batch: list[list[int]]) -> int:
        texts = (wheel.decode(ids, skip_special_tokens=False) for ids in batch)
        again = (wheel.encode(text, add_special_tokens=False).ids for text in texts)
        return sum(ids != there for ids, there in zip(batch, again, strict=True))

    assert timed(benchmark, round_trip, prepare) > 0


def test_check_batch(benchmark: BenchmarkFixture, tok: tito.Tokenizer) -> None:
    def prepare() -> tuple[int, tuple[list[list[int]], list[list[int]]]]:
        batch = rows()
        return sum(map(len, batch)), (batch, masks(batch))

    def check(batch: list[list[int]], mask: list[list[int]]) -> int:
        found = tito.check_batch(batch, tok, mask=mask, threads=1)
        return int(found.drifted.sum() + found.n_straddling.sum())

    assert timed(benchmark, check, prepare) > 0


def test_audit_of_a_file(benchmark: BenchmarkFixture, tok: tito.Tokenizer, tmp_path: Path) -> None:
    def prepare() -> tuple[int, tuple[str]]:
        batch = rows()
        path = tmp_path / "rollouts.jsonl"
        records = [{"token_ids": ids, "mask": mask} for ids, mask in zip(batch, masks(batch), strict=True)]
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return sum(map(len, batch)), (str(path),)

    def audit(path: str) -> int:
        return tito.audit(path, tok, threads=1).statistics.drift_rows

    assert timed(benchmark, audit, prepare) > 0


@pytest.mark.parametrize("column", ["byte_owner", "char_owner"])
def test_provenance_batch(benchmark: BenchmarkFixture, tok: tito.Tokenizer, column: str) -> None:
    def prepare() -> tuple[int, tuple[tuple[Any, Any], tuple[Any, Any]]]:
        batch = rows()
        offsets = np.cumsum([0, *map(len, batch)])
        ids, mask = (np.concatenate([np.asarray(row) for row in part]) for part in (batch, masks(batch)))
        return len(ids), ((ids, offsets), (mask, offsets))

    def provenance(batch: tuple[Any, Any], mask: tuple[Any, Any]) -> int:
        found = tito.provenance_batch(batch, tok, mask=mask, threads=1)
        return int(getattr(found, column).sum())

    assert timed(benchmark, provenance, prepare) > 0
