"""Compare the fast engine with the reference on many millions of tokens of every mix, on every handed tokenizer.

Use: python conformance/campaign.py [--tokens 8000000] [--processes 2] [--names qwen3 ...] [--flags] [--out campaign]

The work is done in units of one tokenizer and one seed. ``OUT.jsonl`` holds what each unit counted, so a run that was
stopped goes on where it was; ``OUT.json`` is the summary. The exit code is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from dataclasses import asdict
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from differential import Count, Differential, Outcome, engines
from vocabulary import Vocabulary

UNIT = 2_000_000
"""Tokens of a unit: some seconds, and room for a row of the longest."""
PIPELINE_EVERY = 8
"""Every so many seeds the options of a pipeline are on, so that its columns hold something."""
FLAGS = "+flags"
FLAGGED = 0.3
"""Share of the added tokens that have a flag, of each flag, where they are given other ones."""
HEAD = ("rows", "tokens", "drifting", "spans", "fast", "differences")


@cache
def vocabulary(name: str) -> Vocabulary:
    """A handed tokenizer; where that stands behind its name, its added tokens have other flags, and some are nested."""
    from shared import tokenizer_path  # noqa: PLC0415 - where nothing was handed over, importing it skips the tests

    text = tokenizer_path(name.removesuffix(FLAGS)).read_text(encoding="utf-8")
    if name.endswith(FLAGS):
        file, random = json.loads(text), Random(name)
        for token, flag in product(file["added_tokens"], ("lstrip", "rstrip", "single_word", "normalized")):
            token[flag] = random.random() < FLAGGED
        file["added_tokens"] += nesting(file)
        text = json.dumps(file)
    return Vocabulary(text)


def nesting(file: dict[str, Any]) -> list[dict[str, Any]]:
    """An added token that another one begins, if there is one, and two runs of tabs of which one begins the other."""
    vocab, some = file["model"]["vocab"], file["added_tokens"]
    ids = range(len(vocab)) if isinstance(vocab, list) else vocab.values()
    first = 1 + max([*ids, *(token["id"] for token in some)])
    texts = [*(token["content"] + "\n" for token in some[-1:]), "\t\t", "\t\t\t"]
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return [{"id": first + at, "content": content, **plain} for at, content in enumerate(texts)]


def compared(name: str, tokens: int, *, seed: int) -> Outcome:
    """Compare both engines on rows of one seed."""
    on = seed % PIPELINE_EVERY == 0
    options = {"skip_special_tokens": on, "clean_up_tokenization_spaces": on}
    known = vocabulary(name)
    return Differential(name, known, *engines(known.core, **options)).run(tokens, seed=seed)


def unit(work: tuple[str, int]) -> dict[str, Any]:
    """One unit of work, counted."""
    name, seed = work
    outcome = compared(name, UNIT, seed=seed)
    counts = {mix: asdict(count) for mix, count in outcome.counts.items()}
    shown = [str(difference) for difference in outcome.differences]
    return {"name": name, "seed": seed, "counts": counts, "seconds": outcome.seconds, "differences": shown}


def table(counts: dict[str, dict[str, Count]]) -> str:
    """Lines of counts by tokenizer and mix."""
    lines = [f"{'tokenizer':20}{'mix':10}" + "".join(f"{name:>13}" for name in HEAD)]
    for name, mixes in counts.items():
        for mix, count in mixes.items():
            values = asdict(count)
            lines.append(f"{name:20}{mix:10}" + "".join(f"{values[column]:>13,}" for column in HEAD))
    return "\n".join(lines)


def summed(units: list[dict[str, Any]]) -> dict[str, dict[str, Count]]:
    """Counts of all units by tokenizer and mix, with all mixes of a tokenizer together at its end."""
    counts: dict[str, dict[str, Count]] = {}
    for each in sorted(units, key=lambda each: (each["name"], each["seed"])):
        mixes = counts.setdefault(each["name"], {})
        for mix, count in each["counts"].items():
            mixes.setdefault(mix, Count()).add(Count(**count))
    for mixes in counts.values():
        total = Count()
        for count in mixes.values():
            total.add(count)
        mixes["all"] = total
    return counts


def main() -> int:
    """Do what is not done yet, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tokens", type=int, default=8_000_000, help="tokens per tokenizer")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--names", nargs="*", help="tokenizers; all by default")
    parser.add_argument("--flags", action="store_true", help="give added tokens other flags at random, and nest some")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("campaign"), help="files to write, without their endings")
    options = parser.parse_args()

    from shared import NAMES  # noqa: PLC0415 - as above

    journal = options.out.with_suffix(".jsonl")
    done = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    seeds = range(options.first_seed, options.first_seed + max(1, -(-options.tokens // UNIT)))
    names = [name + FLAGS * options.flags for name in options.names or NAMES]
    wanted = [(name, seed) for name in names for seed in seeds]
    known = {(each["name"], each["seed"]) for each in done}
    started = time.perf_counter()
    with journal.open("a") as file, multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        # One after the other, so that a process meets few tokenizers.
        for each in pool.imap_unordered(unit, [work for work in wanted if work not in known]):
            done.append(each)
            file.write(json.dumps(each) + "\n")
            file.flush()
            total = summed([each])[each["name"]]["all"]
            print(f"{time.perf_counter() - started:7.0f} s  {each['name']} {each['seed']}: {total}", flush=True)
            for difference in each["differences"]:
                print(difference, flush=True)
    counts = summed([each for each in done if (each["name"], each["seed"]) in set(wanted)])
    print(table(counts))
    as_numbers = {name: {mix: asdict(count) for mix, count in mixes.items()} for name, mixes in counts.items()}
    options.out.with_suffix(".json").write_text(json.dumps(as_numbers, indent=1) + "\n")
    return int(any(mixes["all"].differences for mixes in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
