"""What is timed beside batches of rows: loading, assertions in a loop, provenance, a second thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from beside.engines import OURS, REFERENCE
from beside.kinds import Workshop
from beside.moments import Moment
from beside.processes import Plan, Refused, fresh, timed
from beside.tables import aligned

PASSES = 9
"""Calls after the first with one thread and with two."""


@dataclass(frozen=True, slots=True)
class Found:
    """A table with its title, and the numbers behind it."""

    title: str
    text: str
    numbers: Any


def load(shop: Workshop, plan: Plan) -> Found:
    """Loading a tokenizer, for every engine that does so from the same file."""
    numbers: dict[str, list[float]] = {}
    refused: list[str] = []
    for engine in plan.engines:
        if engine in {"tiktoken", "fastokens+cache"}:  # one is converted by us, the other is loaded as fastokens is
            continue
        try:
            numbers[engine] = [_moment(shop, plan, "load", engine=engine)["seconds"] for _ in range(plan.repeats)]
        except Refused as error:
            refused.append(f"{engine}: no figures: {error}")
    middle = {engine: median(seconds) for engine, seconds in numbers.items()}
    lines = [("engine", "ms", f"x {REFERENCE}")]
    lines += [
        (engine, f"{1e3 * middle[engine]:.0f}", _times(middle[engine], middle.get(REFERENCE))) for engine in middle
    ]
    return Found("load time", "\n".join([*aligned(lines), *refused]), numbers)


def assertion(shop: Workshop, plan: Plan) -> Found:
    """`assert_no_drift` on trajectories, half of which drift."""
    path = shop.file("trajectories")
    if path is None:
        return Found("assert_no_drift", "skipped: no token of this vocabulary can be cut", {})
    numbers = {form: _moment(shop, plan, "assert", rows=path, form=form) for form in ("numpy", "list")}
    lines = [("ids from", "rows", "median ms", "p99 ms")]
    for form, found in numbers.items():
        for kind, seconds in found.items():
            if len(seconds) > 1:
                last = quantiles(seconds, n=100, method="inclusive")[98]
                lines.append(
                    (f"{form}, {kind}", str(len(seconds)), f"{1e3 * median(seconds):.3f}", f"{1e3 * last:.3f}")
                )
    return Found(f"assert_no_drift on {shop.size.trajectory:,} tokens", "\n".join(aligned(lines)), numbers)


def provenance(shop: Workshop, plan: Plan) -> Found:
    """`provenance_batch` on source code."""
    path = shop.need("code")
    runs = [_moment(shop, plan, "provenance", rows=path) for _ in range(plan.repeats)]
    first = runs[0]
    lines = [("columns", "Mtok/s")]
    for name, key in (("per byte", "of_bytes"), ("per byte and per character", "of_chars")):
        lines.append((name, f"{first['tokens'] / median(run[key] for run in runs) / 1e6:.3g}"))
    per_byte = first["result"] / first["bytes"]
    text = "\n".join([*aligned(lines), f"{per_byte:.1f} bytes of result per decoded byte"])
    return Found(f"provenance_batch on {first['tokens']:,} tokens, one thread", text, runs)


def threads(shop: Workshop, plan: Plan) -> Found:
    """One call of `check_batch` with two threads on two cores against one on one."""
    path = shop.need("code")
    # Processor time does not fall with the second thread, and in a slice, a millisecond or two, it has hardly started.
    # Of a few calls one pays for a row that is judged again, and after the first ones both threads know the pairs.
    plan = replace(plan, engines=(OURS,), clock="wall", slice=sys.maxsize, passes=PASSES)
    both = [timed(plan, tokenizer=shop.path, rows=path, threads=count)[0] for count in (1, 2)]
    refused = next((result.refused for result in both if result.refused), None)
    title = f"two threads against one, all source code in one call; again: the median of {PASSES} more"
    if refused:
        return Found(title, f"no figures: {refused}", {})
    one, two = (result.medians() for result in both)
    lines = [("threads", "Mtok/s new", "again")]
    lines += [(name, f"{of['new'] / 1e6:.3g}", f"{of['again'] / 1e6:.3g}") for name, of in (("1", one), ("2", two))]
    lines.append(("ratio", f"{two['new'] / one['new']:.2f}", f"{two['again'] / one['again']:.2f}"))
    return Found(title, "\n".join(aligned(lines)), {"1": both[0].runs, "2": both[1].runs})


MEASURES: Mapping[str, Callable[[Workshop, Plan], Found]] = {
    "load": load,
    "assert": assertion,
    "provenance": provenance,
    "threads": threads,
}


def _moment(
    shop: Workshop, plan: Plan, measure: str, *, engine: str = OURS, rows: Path | None = None, form: str = "numpy"
) -> Any:
    job = Moment(
        measure=measure, engine=engine, tokenizer=str(shop.path), rows=str(rows or ""), form=form, clock=plan.clock
    )
    return fresh("beside.moments", job, threads=1, patience=plan.patience)


def _times(value: float, other: float | None) -> str:
    return "-" if other is None else f"{value / other:.2f}"
