"""Peak memory of `tito-audit check` on files of two sizes: what is large must not matter, only what is large in a row.

Writes JSON Lines of 2 and 4 GB and Parquet files of 100 and 200 million tokens (each one row group) to a temporary
folder, checks each with two threads in a process of its own and prints its peak; a MB is a million bytes. Takes about
five minutes on one core; ``--scale 0.05`` takes seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

ROW_TOKENS = 1000
STARTER = """\
import os, sys
unread = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=unread)
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""
"""What starts a command: a process takes over the peak of the one that starts it, so that one has to be small."""
_MB = 1_000_000


def tokenizer(folder: Path) -> tuple[Path, list[int]]:
    """Train a tokenizer on this file, and return it with ids to cut rows from."""
    text = Path(__file__).read_text(encoding="utf-8")
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator([text], trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet))
    made.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json", made.encode(text * 20).ids


def json_lines(path: Path, size: int, ids: list[int]) -> None:
    """Write JSON Lines of about ``size`` bytes; a row has ids, a mask, logprobs and the text."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="ascii") as file:
        written = number = 0
        while written < size:
            start = int(rng.integers(len(ids) - ROW_TOKENS))
            row = {
                "id": f"row-{number}",
                "token_ids": ids[start : start + ROW_TOKENS],
                "mask": [0] * 200 + [1] * (ROW_TOKENS - 200),
                "logprobs": [-0.25] * ROW_TOKENS,
                "text": "x" * 4000,
            }
            written += file.write(json.dumps(row) + "\n")
            number += 1


def one_row_group(path: Path, tokens: int, ids: list[int]) -> None:
    """Write a Parquet file whose one row group holds all tokens."""
    rows = tokens // ROW_TOKENS
    starts = np.random.default_rng(0).integers(len(ids) - ROW_TOKENS, size=rows)
    values = np.array(ids, dtype=np.int32)[(starts[:, None] + np.arange(ROW_TOKENS)).ravel()]
    offsets = np.arange(rows + 1, dtype=np.int64) * ROW_TOKENS
    mask = np.tile(np.arange(ROW_TOKENS) >= 200, rows).astype(np.int8)
    table = pa.table(
        {
            "id": pa.array([f"row-{number}" for number in range(rows)]),
            "token_ids": pa.LargeListArray.from_arrays(offsets, pa.array(values)),
            "mask": pa.LargeListArray.from_arrays(offsets, pa.array(mask)),
        }
    )
    parquet.write_table(table, path, row_group_size=rows)


def peak(command: list[str]) -> tuple[int, float, int]:
    """Run a command; return its exit code, seconds and peak resident memory in MB."""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-S", "-c", STARTER, *command], check=True, stdout=subprocess.PIPE)
    code, most = map(int, done.stdout.split())
    return code, time.monotonic() - started, most * 1024 // _MB


def main() -> None:
    """Write, check and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=float, default=1.0, help="size of everything")
    scale = options.parse_args().scale
    command = str(Path(sys.executable).with_name("tito-audit"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, ids = tokenizer(folder)
        for times in (1, 2):
            for suffix in ("jsonl", "parquet"):
                file = folder / f"rows.{suffix}"
                if suffix == "jsonl":
                    json_lines(file, int(times * scale * 2e9), ids)
                else:
                    pid = os.fork()  # writing takes more memory than this process should be left with
                    if pid == 0:
                        one_row_group(file, int(times * scale * 1e8), ids)
                        os._exit(0)
                    os.waitpid(pid, 0)
                size = file.stat().st_size / _MB
                code, seconds, most = peak([command, "check", str(file), "-t", str(path), "-q", "--threads", "2"])
                print(f"{suffix:<8} {size:8,.0f} MB  peak {most:5,} MB  exit {code}  {seconds:7.1f} s", flush=True)  # noqa: T201
                file.unlink()


if __name__ == "__main__":
    main()
