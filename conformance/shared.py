"""Where the handed cases, tokenizers, rollouts and texts are: `TITO_SHARED`, or the folder beside the repository."""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tito_audit as tito

SHARED = Path(os.environ.get("TITO_SHARED") or Path(__file__).parents[2] / "shared")
if not (SHARED / "tokenizers").is_dir():
    pytest.skip(f"nothing was handed over in {SHARED} (set TITO_SHARED to where it is)", allow_module_level=True)
NAMES = sorted(path.parent.name for path in (SHARED / "tokenizers").glob("*/tokenizer.json"))
ROLLOUTS = {
    "smollm2": ("smollm2/rollouts_t0.7.jsonl", "smollm2/rollouts_t1.0.jsonl"),
    "qwen3": ("qwen3_real.jsonl",),
    "llama3": ("atropos/atropos_llama3.jsonl",),
}
"""Files of sampled rows by the tokenizer that they were sampled with."""


def tokenizer_path(name: str) -> Path:
    """The ``tokenizer.json`` of a handed tokenizer."""
    return SHARED / "tokenizers" / name / "tokenizer.json"


@cache
def tokenizer(name: str) -> tito.Tokenizer:
    """A handed tokenizer, loaded once."""
    with warnings.catch_warnings():
        # The configs of some switch the clean-up on; that it is said is tested elsewhere.
        warnings.simplefilter("ignore", tito.TokenizerWarning)
        return tito.load_tokenizer(tokenizer_path(name))


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSONL file."""
    with path.open(encoding="utf-8") as handle:
        yield from map(json.loads, handle)


def rollouts(name: str) -> list[dict[str, Any]]:
    """The records that were sampled with a tokenizer."""
    return [record for file in ROLLOUTS.get(name, ()) for record in lines(SHARED / "rollouts" / file)]


@cache
def texts() -> list[str]:
    """Paragraphs in many languages, and what people asked."""
    paragraphs = (SHARED / "text" / "multilingual.txt").read_text(encoding="utf-8").split("\n\n")
    turns = [turn["text"] for record in rollouts("smollm2")[::20] for turn in record["turns"]]
    return [text for text in [*paragraphs, *turns] if text]


class Ran(NamedTuple):
    """What the command did."""

    code: int
    out: str
    err: str


def command(*arguments: object, stdin: bytes | None = None, seconds: int = 300) -> Ran:
    """Run the command as a user does, with nothing set around it."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("TITO_AUDIT", "COLUMNS"))}
    run = subprocess.run(
        (sys.executable, "-m", "tito_audit", *map(str, arguments)),
        capture_output=True,
        check=False,
        timeout=seconds,
        input=stdin or b"",
        env=plain,
    )
    return Ran(run.returncode, run.stdout.decode(), run.stderr.decode())


def audited(*arguments: object, name: str = "smollm2", stdin: bytes | None = None) -> tuple[int, dict[str, Any]]:
    """Run ``check`` with a handed tokenizer; give its exit code and its JSON report."""
    ran = command("check", *arguments, "-t", tokenizer_path(name), "--output-format", "json", stdin=stdin)
    report: dict[str, Any] = json.loads(ran.out)
    return ran.code, report


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """Write records as JSON Lines."""
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path
