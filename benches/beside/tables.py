"""Tables of what was timed, and a line on the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from beside.engines import ENGINES, OURS, REFERENCE
from beside.processes import Result

TIMES = ("cold", "new", "again")
HEAD = ("engine", "Mtok/s cold", *TIMES[1:], "x HF cold", *TIMES[1:], "x best peer cold", *TIMES[1:], "equal", "Mtok")


def table(results: Sequence[Result]) -> str:
    """Medians of engines on the same rows, ratios to the reference and to the best of all but ours."""
    answered = {result.engine: result.medians() for result in results if not result.refused}
    peers = [medians for name, medians in answered.items() if name != OURS]
    best = {time: max(medians[time] for medians in peers) for time in TIMES} if peers else {}
    lines: list[Sequence[str]] = [HEAD]
    for result in results:
        if result.engine not in answered:
            continue
        medians, run = answered[result.engine], result.runs[0]
        speeds = [f"{medians[time] / 1e6:.3g}" for time in TIMES]
        ratios = [_ratio(medians, to, time) for to in (answered.get(REFERENCE, {}), best) for time in TIMES]
        last = (f"{run['equal']}/{run['compared']}", f"{run['tokens'] / 1e6:.3g}")
        lines.append((result.engine, *speeds, *ratios, *last))
    refusals = [f"{result.engine}: no figures: {result.refused}" for result in results if result.refused]
    return "\n".join([*aligned(lines), *refusals])


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lay columns out, the first to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    ]


def machine() -> str:
    """Processor, load, and the version of everything that was timed."""
    names = sorted({engine.package for engine in ENGINES.values()} | {"numpy"})
    versions = ", ".join(f"{name} {version(name) or 'not installed'}" for name in names)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        f"machine: {cores} cores of {_processor()}, load {load}, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}; {versions}"
    )


def version(package: str) -> str | None:
    """The installed version of a package; ours may be on the path without being installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        if package != OURS:
            return None
    import tito_audit  # noqa: PLC0415 - needed where it is not installed only

    return tito_audit.__version__


def _ratio(medians: Mapping[str, float], to: Mapping[str, float], time: str) -> str:
    return f"{medians[time] / to[time]:.3g}" if to else "-"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
