"""Count drift in JSONL rollouts with nothing but the PyPI wheel: what the command's figures are held against.

Use: python count.py TOKENIZER FILE...
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer


def count(tokenizer: Tokenizer, files: list[str]) -> dict[str, int]:
    """Rows that hold token ids, their tokens, and those that do not come back as they were."""
    counts = dict.fromkeys(("rows", "tokens", "trainable_tokens", "drift_rows", "silent_drift_rows"), 0)
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
    return counts


if __name__ == "__main__":
    print(json.dumps(count(Tokenizer.from_file(sys.argv[1]), sys.argv[2:])))
