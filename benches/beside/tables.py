"""Tables of what was timed, and a line on the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from beside.engines import ENGINES, OURS, REFERENCE
from beside.processes import Result

HEAD = ("engine", "Mtok/s cold", "warm", "x HF cold", "warm", "x best peer cold", "warm", "rows equal", "Mtok timed")


def table(results: Sequence[Result]) -> str:
    """Medians and ratios of engines on the same rows; for us cold is new rows, warm the same rows again."""
    answered = {result.engine: result for result in results if result.runs and not result.refused}
    peers = [result for name, result in answered.items() if name != OURS]
    reference = answered.get(REFERENCE)
    best_cold = max((peer.cold for peer in peers), default=None)
    best_warm = max((peer.warm for peer in peers), default=None)
    lines = [HEAD]
    for result in results:
        if result.engine not in answered:
            continue
        first = result.runs[0]
        lines.append(
            (
                result.engine,
                f"{result.cold / 1e6:.3g}",
                f"{result.warm / 1e6:.3g}",
                _ratio(result.cold, reference.cold if reference else None),
                _ratio(result.warm, reference.warm if reference else None),
                _ratio(result.cold, best_cold),
                _ratio(result.warm, best_warm),
                f"{first['equal']}/{first['compared']}",
                f"{first['tokens'] / 1e6:.3g}",
            )
        )
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


def _ratio(value: float, other: float | None) -> str:
    return "-" if not other else f"{value / other:.3g}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
