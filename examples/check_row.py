"""Check one rollout from Python, with names for the owners: `python examples/check_row.py ROLLOUTS ID TOKENIZER`."""

import json
import sys
from pathlib import Path

import tito_audit as tito
from make_examples import OWNERS


def check(rollouts: str, name: str, tokenizer: str) -> tito.Check:
    """Find the row of that name and check it."""
    rows = (json.loads(line) for line in Path(rollouts).read_text(encoding="utf-8").splitlines())
    row = next(row for row in rows if row["id"] == name)
    tok = tito.load_tokenizer(tokenizer)
    return tito.check(row["token_ids"], tok, mask=row["mask"], owners=row["owners"], owner_names=OWNERS)


if __name__ == "__main__":
    result = check(*sys.argv[1:4])
    print(result)
