"""Count drift in JSONL rollouts with nothing but the PyPI wheel: what the command's figures are held against.

Use: python count.py TOKENIZER FILE...
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

OUTSIDE = -1
"""The turn of a token that no turn holds."""


def per_token(record: dict[str, Any]) -> tuple[list[int], list[str]]:
    """Number of the turn and name of the role of every token, by the record's list of turns."""
    turns = [OUTSIDE] * len(record["token_ids"])
    roles = [""] * len(turns)
    for number, turn in enumerate(record.get("turns") or ()):
        for at in range(turn["start"], turn["end"]):
            assert turns[at] == OUTSIDE, "two turns hold one token"
            turns[at], roles[at] = number, turn["role"]
    return turns, roles


def count(tokenizer: Tokenizer, files: list[str]) -> dict[str, int]:
    """Rows that hold token ids, their tokens, and those that do not come back as they were."""
    counts = dict.fromkeys(("rows", "tokens", "trainable_tokens", "drift_rows", "silent_drift_rows", "length_delta"), 0)
    for file in files:
        with Path(file).open(encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                if ids := record.get("token_ids"):
                    text = tokenizer.decode(ids, skip_special_tokens=False)
                    again = tokenizer.encode(text, add_special_tokens=False).ids
                    counts["rows"] += 1
                    counts["tokens"] += len(ids)
                    counts["trainable_tokens"] += sum(record["mask"])
                    counts["drift_rows"] += ids != again
                    counts["silent_drift_rows"] += ids != again and len(ids) == len(again)
                    counts["length_delta"] += len(again) - len(ids)
    return counts


def by_turn(files: list[str]) -> dict[int, dict[str, int]]:
    """Per turn the rows that have a token of it, and its tokens of mask 1."""
    rows: Counter[int] = Counter()
    trainable: Counter[int] = Counter()
    for file in files:
        with Path(file).open(encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                if record.get("token_ids"):
                    turns, _ = per_token(record)
                    rows.update(set(turns) - {OUTSIDE})
                    trainable.update(turn for turn, value in zip(turns, record["mask"], strict=True) if value)
    return {turn: {"rows": rows[turn], "trainable_tokens": trainable[turn]} for turn in sorted(rows)}


if __name__ == "__main__":
    counted = count(Tokenizer.from_file(sys.argv[1]), sys.argv[2:])
    print(json.dumps(counted | {"by_turn": by_turn(sys.argv[2:])}))
