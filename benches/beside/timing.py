"""One process that times one engine on one file of rows: `python -m beside.timing JOB`, the answer as JSON."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, Literal, TypedDict, TypeVar

from beside.engines import ENGINES, Engine
from beside.rows import Case, Rows

SLICE = 1_250_000
"""Tokens of one call, where nobody says otherwise. A pass ends with the slice in which its time is over."""


Clock = Literal["wall", "cpu"]


class Job(TypedDict):
    """What to time."""

    engine: str
    tokenizer: str
    rows: str
    threads: int
    slice: int
    passes: int
    seconds: float
    clock: Clock


class Timed(TypedDict):
    """What one process found: the seconds of a first sentence, and of a first and a later pass over all tokens.

    ``equal`` of the ``compared`` first rows were re-encoded as the reference re-encodes them.
    """

    tokens: int
    start: float
    first: float
    again: float
    unchanged: int
    equal: int
    compared: int


T = TypeVar("T")


def pin(threads: int) -> None:
    """Stay on as many processors as there are threads, where the system lets a process say so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def clocked(function: Callable[[], T], clock: Clock = "wall") -> tuple[float, T]:
    """Seconds and answer of a call, without collections of garbage that is not its own.

    Nor is garbage collected just before: that reads every object, and leaves the processor's caches full of them.
    """
    now = perf_counter if clock == "wall" else process_time
    gc.disable()
    started = now()
    answer = function()
    seconds = now() - started
    gc.enable()
    return seconds, answer


def measure(job: Job) -> Timed:
    """Load, time the rows as they come for the first time and again, and compare with the reference."""
    case = Case.load(Path(job["rows"]))
    engine = ENGINES[job["engine"]](Path(job["tokenizer"]), job["threads"])
    start, _ = clocked(lambda: engine.verdicts(engine.prepare(case.first)), job["clock"])
    seen: list[Rows] = []
    first = 0.0
    unchanged = 0
    for part in case.rows.slices(job["slice"]):
        seconds, kept = _pass(engine, part, job["clock"])
        seen.append(part)
        first += seconds
        unchanged += kept
        if first >= job["seconds"]:
            break
    passes = [sum(_pass(engine, part, job["clock"])[0] for part in seen) for _ in range(job["passes"])]
    reencoded = engine.reencoded(case.rows.part(0, len(case.reference)))
    return Timed(
        tokens=sum(len(part.ids) for part in seen),
        start=start,
        first=first,
        again=median(passes),
        unchanged=unchanged,
        equal=sum(ids == other for ids, other in zip(reencoded, case.reference.lists(), strict=True)),
        compared=len(case.reference),
    )


def _pass(engine: Engine[Any], part: Rows, clock: Clock) -> tuple[float, int]:
    prepared = engine.prepare(part)
    return clocked(lambda: engine.verdicts(prepared), clock)


def main() -> None:
    """Time what the argument says."""
    job: Job = json.loads(sys.argv[1])
    pin(job["threads"])
    json.dump(measure(job), sys.stdout)


if __name__ == "__main__":
    main()
