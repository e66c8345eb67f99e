"""One process that times something else than a batch: `python -m beside.moments JOB`, the answer as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

import tito_audit as tito
from beside.engines import ENGINES
from beside.rows import Case, Rows
from beside.timing import Clock, clocked, pin


class Moment(TypedDict):
    """What to time; ``engine`` is for loading, ``rows`` for all else, ``form`` for how assertions get their ids."""

    measure: str
    engine: str
    tokenizer: str
    rows: str
    form: str
    clock: Clock


def load(job: Moment) -> dict[str, float]:
    """Load a tokenizer; the import of the engine is not counted."""
    engine = ENGINES[job["engine"]]
    import_module(engine.package)
    seconds, _ = clocked(lambda: engine(Path(job["tokenizer"]), 1), job["clock"])
    return {"seconds": seconds}


def assertion(job: Moment) -> dict[str, list[float]]:
    """Assert one trajectory after the other, none of which the process has seen before."""
    tok, case = _loaded(job)
    found: dict[str, list[float]] = {"clean": [], "drifting": []}
    _raises(case.first.ids, tok)
    for row in case.rows.arrays():
        ids: Any = row.tolist() if job["form"] == "list" else row
        seconds, raised = clocked(partial(_raises, ids, tok), job["clock"])
        found["drifting" if raised else "clean"].append(seconds)
    return found


def provenance(job: Moment) -> dict[str, float]:
    """Ask for the columns per byte, and in another call for those per character as well."""
    tok, case = _loaded(job)
    tito.provenance_batch((case.first.ids, case.first.offsets), tok, mask=case.first.mask, threads=1)
    of_bytes, (size, _) = clocked(
        lambda: _columns(case.rows, tok, ("text_bytes", "byte_owner", "byte_token")), job["clock"]
    )
    names = ("text_bytes", "byte_owner", "byte_token", "char_owner", "char_token", "char_byte")
    of_chars, (_, total) = clocked(lambda: _columns(case.rows, tok, names), job["clock"])
    return {"tokens": len(case.rows.ids), "bytes": size, "result": total, "of_bytes": of_bytes, "of_chars": of_chars}


def _loaded(job: Moment) -> tuple[tito.Tokenizer, Case]:
    return tito.load_tokenizer(job["tokenizer"]), Case.load(Path(job["rows"]))


def _raises(ids: object, tok: tito.Tokenizer) -> bool:
    try:
        tito.assert_no_drift(ids, tok)
    except tito.DriftError:
        return True
    return False


def _columns(rows: Rows, tok: tito.Tokenizer, names: tuple[str, ...]) -> tuple[int, int]:
    """Bytes of the decoded text, and bytes of the columns asked for."""
    batch = tito.provenance_batch((rows.ids, rows.offsets), tok, mask=rows.mask, threads=1)
    columns: list[np.ndarray[Any, Any]] = [getattr(batch, name) for name in names]
    assert all(column[-1] >= -1 for column in columns)  # read what may be made when it is asked for
    return len(batch.text_bytes), sum(column.nbytes for column in columns)


MEASURES: Mapping[str, Callable[[Moment], Mapping[str, Any]]] = {
    "load": load,
    "assert": assertion,
    "provenance": provenance,
}


def main() -> None:
    """Time what the argument says."""
    job: Moment = json.loads(sys.argv[1])
    pin(1)
    json.dump(MEASURES[job["measure"]](job), sys.stdout)


if __name__ == "__main__":
    main()
