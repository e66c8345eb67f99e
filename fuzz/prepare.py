"""Lay out what the fuzz target needs in ``fuzz/work``: tokenizers, the tokens to make rows of, and a seed corpus.

With ``TITO_SHARED`` set, the tokenizers in that folder are among them.
"""

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from families import families
from hostile_texts import Texts
from vocabulary import Vocabulary
from zoo import zoo

WORK = Path(__file__).with_name("work")
NASTY = 192
"""One-byte instructions of the target that stand for a token."""
SEEDS = 300
OTHERS = ("bytelevel_added", "bytelevel_odd_vocabulary", "spm_prepend_added", "spm_replace_split", "metaspace_first")
"""Kinds of the zoo that are no family."""


def sources() -> Iterator[tuple[str, Path]]:
    """Name and file of every tokenizer."""
    made = families() | {name: zoo()[name] for name in OTHERS}
    for name, text in made.items():
        path = WORK / "tokenizers" / f"{name}.json"
        path.write_text(text, encoding="utf-8")
        yield name, path
    if shared := os.environ.get("TITO_SHARED"):
        for path in sorted(Path(shared).glob("tokenizers/*/tokenizer.json")):
            yield path.parent.name, path.resolve()


def seed(rng: random.Random, texts: Texts, tokenizers: int) -> bytes:
    """An input of the target: a tokenizer, flags, and instructions of every kind."""
    data = bytearray([rng.randrange(tokenizers), rng.randrange(256)])
    for _ in range(rng.randint(1, 12)):
        text = texts.strange() if rng.random() < 0.5 else texts.natural(30)
        encoded = text.encode()[:31]
        data += rng.choice(
            (
                bytes(rng.choices(range(NASTY), k=rng.randint(1, 6))),
                bytes([0xC0, rng.randrange(256), rng.randrange(256)]),
                bytes([rng.randrange(NASTY), 0xD8, rng.choice((1, 2, 7, 63, 255))]),
                bytes([0xE0, len(encoded), *encoded]),
                bytes([0xE0, len(encoded), *encoded, 0xF0, rng.randrange(256)]),
                bytes([rng.choice((0xF8, 0xF9, 0xFA)), rng.randrange(256)]),
                b"\xff",
            )
        )
    return bytes(data)


def main() -> None:
    """Write everything anew."""
    for folder in ("tokenizers", "seeds", "corpus"):
        (WORK / folder).mkdir(parents=True, exist_ok=True)
    entries = []
    for name, path in sources():
        known = Vocabulary(path.read_text(encoding="utf-8"))
        nasty = known.nasty.draw(np.random.default_rng(0), NASTY).tolist()
        entries.append({"name": name, "path": str(path), "nasty": nasty, "size": max(known.bytes) + 1})
    (WORK / "tokenizers.json").write_text(json.dumps(entries), encoding="utf-8")
    rng, texts = random.Random(0), Texts(0)
    for number in range(SEEDS):
        (WORK / "seeds" / str(number)).write_bytes(seed(rng, texts, len(entries)))


if __name__ == "__main__":
    main()
