"""Fresh processes, one after the other, and the medians of what they found."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any

from beside.timing import SLICE, Clock, Job, Timed

BENCHES = Path(__file__).parents[1]


class Refused(Exception):  # noqa: N818 - an engine may well not take a tokenizer
    """An engine that ended without an answer; the message is the last thing it said."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which engines are timed, and how patiently.

    Attributes:
        engines: Names of engines, ours among them.
        repeats: Processes per figure.
        seconds: A pass ends with the slice in which they are over.
        patience: Seconds after which a process is given up.
        clock: Time that passes, or time of the processor.
        slice: Tokens of one call.
        passes: How often all rows are seen again; what counts is the median.
    """

    engines: tuple[str, ...]
    repeats: int
    seconds: float
    patience: float
    clock: Clock
    slice: int = SLICE
    passes: int = 1


@dataclass(slots=True)
class Result:
    """All that was timed of one engine on one kind of rows."""

    engine: str
    runs: list[Timed] = field(default_factory=list)
    refused: str = ""

    def medians(self) -> dict[str, float]:
        """Tokens per second: *cold* with the start of what starts at the first call, *new* without, *again*."""
        seconds = {
            "cold": [run["start"] + run["first"] for run in self.runs],
            "new": [run["first"] for run in self.runs],
            "again": [run["again"] for run in self.runs],
        }
        tokens = [run["tokens"] for run in self.runs]
        return {name: median(map(truediv, tokens, each)) for name, each in seconds.items() if each}


def fresh(module: str, job: Mapping[str, Any], *, threads: int, patience: float) -> Any:
    """Run one of our modules in a process of its own.

    Raises:
        Refused: It failed, or took longer than ``patience`` seconds.
    """
    size = str(threads)
    paths = [str(BENCHES), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "RAYON_NUM_THREADS": size,
        "FASTOKENS_BPE_THREADS": size,
        "TOKENIZERS_PARALLELISM": str(threads > 1).lower(),
    }
    command = [sys.executable, "-m", module, json.dumps(job)]
    try:
        done = subprocess.run(command, env=environment, timeout=patience, check=True, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        raise Refused(f"no answer in {patience:.0f} s") from None
    except subprocess.CalledProcessError as error:
        raise Refused(_complaint(error)) from None
    return json.loads(done.stdout)


def _complaint(error: subprocess.CalledProcessError) -> str:
    """The line that names the exception, else the last one (what died in native code leaves no traceback)."""
    lines: list[str] = [*filter(None, error.stderr.splitlines())] or [f"exit {error.returncode}"]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    return (named or lines)[-1][:160]


def timed(plan: Plan, *, tokenizer: Path, rows: Path, threads: int) -> list[Result]:
    """Time engines on rows, in turns, so that a noisy minute of the machine hits all of them."""
    results = [Result(engine) for engine in plan.engines]
    for _ in range(plan.repeats):
        for result in results:
            if result.refused:
                continue
            job = Job(
                engine=result.engine,
                tokenizer=str(tokenizer),
                rows=str(rows),
                threads=threads,
                slice=plan.slice,
                passes=plan.passes,
                seconds=plan.seconds,
                clock=plan.clock,
            )
            try:
                result.runs.append(fresh("beside.timing", job, threads=threads, patience=plan.patience))
            except Refused as refused:
                result.refused = str(refused)
    return results
