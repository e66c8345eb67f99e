"""The kinds of rows that are timed, and how each is made for a tokenizer."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

import tito_audit as tito
from beside import texts
from beside.rows import COMPARED, Case, Rows, encoded, joined, recut

FOLDER = Path(os.environ.get("TITO_SIDE_BY_SIDE", Path(__file__).parents[2] / ".cache" / "side_by_side"))
"""Where rows are kept; they are made anew where it is empty."""
RECIPE = 2
"""Goes up when rows are made in another way, so that none of an earlier one are read."""
FIRST = "Every engine sees this sentence before the clock runs: what starts lazily has started then.\n"


@dataclass(frozen=True, slots=True)
class Size:
    """How much of each kind is made.

    Attributes:
        code: Tokens of source code.
        other: Tokens of any other text.
        rows: Tiny rows.
        run: Repetitions of one character.
        trajectories: Number of long rows.
        trajectory: Tokens of a long row.
    """

    code: int
    other: int
    rows: int
    run: int
    trajectories: int
    trajectory: int

    def __str__(self) -> str:
        return "-".join(map(str, astuple(self)))


FULL = Size(10_000_000, 1_500_000, rows=100_000, run=1_000_000, trajectories=60, trajectory=32_768)
QUICK = Size(40_000, 20_000, rows=2_000, run=20_000, trajectories=4, trajectory=2_048)
RUN_SPANS = 50
RUN_ROWS = 20

Maker = Callable[["Workshop"], Rows | None]


class Workshop:
    """Makes rows for one tokenizer, and keeps them in files."""

    def __init__(self, name: str, path: Path, size: Size) -> None:
        self.name = name
        self.path = path
        self.size = size
        self._hash = hashlib.sha256(path.read_bytes()).hexdigest()[:12]

    def file(self, kind: str) -> Path | None:
        """The file with the rows of a kind, made where it is not there yet; None where there are none to be had."""
        path = FOLDER / f"{self.name}-{self._hash}" / f"{kind}-{self.size}-r{RECIPE}.npz"
        if not path.exists():
            rows = _ALL[kind](self)
            if rows is None or not len(rows):
                return None
            self._case(rows).save(path)
        return path

    def need(self, kind: str) -> Path:
        """The same for a kind that every tokenizer has."""
        path = self.file(kind)
        assert path is not None, f"no rows of {kind}: is there no Python source here?"
        return path

    @cached_property
    def wheel(self) -> Tokenizer:
        """The reference, without truncation and padding."""
        wheel = Tokenizer.from_file(str(self.path))
        wheel.no_truncation()
        wheel.no_padding()
        return wheel

    @cached_property
    def _tok(self) -> tito.Tokenizer:
        return tito.load_tokenizer(self.path)

    def encode(self, documents: Iterator[str], tokens: int | None = None, rows: int = 10**9) -> Rows:
        return encoded(self.wheel, documents, tokens=tokens or self.size.other, rows=rows)

    def _case(self, rows: Rows) -> Case:
        wheel = self.wheel
        sample = rows.part(0, min(COMPARED, len(rows)))
        decoded = wheel.decode_batch(sample.lists(), skip_special_tokens=False)
        again = wheel.encode_batch_fast(decoded, add_special_tokens=False)
        first = wheel.encode(FIRST, add_special_tokens=False).ids
        return Case(rows, joined([encoding.ids for encoding in again]), joined([first]), self._note(rows))

    def _note(self, rows: Rows) -> str:
        """Say how much it is and how much of it drifts, out of our own report."""
        batch = tito.check_batch((rows.ids, rows.offsets), self._tok, mask=rows.mask)
        drifted, spans = int(batch.drifted.sum()), int(batch.n_spans.sum())
        return (
            f"{len(rows.ids):,} tokens in {len(rows):,} rows; {drifted:,} rows drift, "
            f"{1_000 * spans / len(rows.ids):.2f} spans per 1,000 tokens, {int(batch.n_straddling.sum()):,} straddling"
        )


def _code(shop: Workshop) -> Rows:
    return shop.encode(texts.code(), shop.size.code)


def _tiny(shop: Workshop) -> Rows:
    return shop.encode(texts.lines(), 10**12, shop.size.rows)


def _drifting(rate: int) -> Maker:
    """Natural code, of which that many tokens per 1,000 are spelled in two."""

    def make(shop: Workshop) -> Rows | None:
        rows = shop.encode(texts.code())
        return recut(shop.wheel, rows, round(len(rows.ids) * rate / 1_000), seed=rate)

    return make


def _trajectories(shop: Workshop) -> Rows | None:
    """Long rows of source code; in every other one a token in a thousand is spelled in two."""
    wheel, length = shop.wheel, shop.size.trajectory
    documents = texts.code()
    rows = []
    for number in range(shop.size.trajectories):
        text = ""
        while len(ids := wheel.encode(text, add_special_tokens=False).ids) < length:
            text += "".join(islice(documents, 1 + (length - len(ids)) // 4_000))
        # What is left of the last word may be spelled in another way than the whole word was.
        text = wheel.decode(ids[:length], skip_special_tokens=False)
        row = joined([wheel.encode(text, add_special_tokens=False).ids])
        cut = recut(wheel, row, length // 1_000, seed=number) if number % 2 else row
        if cut is None:
            return None
        rows.append(cut.ids.tolist())
    return joined(rows)


def _run(text: str, spans: int) -> Maker:
    """Rows of the same text again and again, as many as make a call, each with so many tokens spelled in two."""

    def make(shop: Workshop) -> Rows | None:
        row = shop.encode(iter([text * shop.size.run]))
        rows = [recut(shop.wheel, row, spans, seed=seed) if spans else row for seed in range(RUN_ROWS)]
        return joined(each.ids.tolist() for each in rows if each is not None)

    return make


def _rollouts(shop: Workshop) -> Rows | None:
    """Really sampled rows of a folder: JSON Lines with ``token_ids`` and ``mask``, below a path with our name."""
    folder = os.environ.get("TITO_SHARED")
    if not folder:
        return None
    root = Path(folder, "rollouts")
    records = [
        json.loads(line)
        for path in sorted(root.rglob("*.jsonl"))
        if shop.name in path.relative_to(root).as_posix()
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    usable = [record for record in records if record.get("token_ids") and record.get("mask")]
    masks = [[int(value > 0) for value in record["mask"]] for record in usable]
    return joined([record["token_ids"] for record in usable], masks) if usable else None


_RUNS = {"a": "a", "underscore": "_", "space": " ", "newline": "\n"}

KINDS: Mapping[str, Maker] = {
    "code": _code,
    "prose": lambda shop: shop.encode(texts.prose()),
    "json": lambda shop: shop.encode(texts.tool_calls()),
    "multilingual": lambda shop: shop.encode(texts.translations()),
    "rollouts": _rollouts,
    **{f"drift-{rate}": _drifting(rate) for rate in (1, 5, 10)},
    **{f"run-{name}": _run(text, 0) for name, text in _RUNS.items()},
    **{f"run-{name}-drift": _run(text, RUN_SPANS) for name, text in _RUNS.items()},
    "tiny": _tiny,
}
_ALL = {**KINDS, "trajectories": _trajectories}
GROUPS = ("drift", "run")
QUICK_KINDS = ("code", "json", "drift-5", "run-a-drift", "tiny")
ABOUT: Mapping[str, str] = {
    "code": "Python source of the standard library and the installed packages",
    "prose": "English paragraphs of READMEs, licences, documentation and docstrings",
    "json": "generated JSON tool calls and results",
    "multilingual": "messages of installed gettext catalogues, one language a row",
    "rollouts": "sampled rollouts of TITO_SHARED",
    "drift": "source code with tokens spelled in two",
    "run": "one character again and again",
    "tiny": "short lines of source code, one a row",
}


def about(kind: str) -> str:
    """Say what text a kind of rows is."""
    return ABOUT[_group(kind)]


def kinds_of(names: Collection[str]) -> list[str]:
    """Kinds by name, a group's name standing for all of it."""
    return [kind for kind in KINDS if kind in names or (_group(kind) in GROUPS and _group(kind) in names)]


def _group(kind: str) -> str:
    return kind.partition("-")[0]
