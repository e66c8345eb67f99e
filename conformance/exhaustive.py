"""Every cause that a tokenizer's shortest tokens can show: all pairs of some and all triples of fewer are judged.

Nothing here knows how `tito_audit.strategies` looks for causes.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import tito_audit as tito
from tito_audit import _core
from tito_audit.rules import RULES

CHUNK = 1 << 16
GAP = 300
"""How far behind the last id one more is looked for: files leave gaps."""

Ids = NDArray[np.int64]


def shortest(tokenizer: tito.Tokenizer, count: int) -> Ids:
    """The tokens of the fewest bytes, by bytes and id; added tokens are among them."""
    top = max([tokenizer.vocab_size, *(token + 1 for token in tokenizer.added_ids)]) + GAP
    found = ((token, tokenizer.token_bytes(token)) for token in range(top))
    sizes = [(len(data), token) for token, data in found if data is not None]
    return np.array([token for _, token in sorted(sizes)[:count]], dtype=np.int64)


def rows(ids: Ids, width: int) -> Iterator[Ids]:
    """All rows of `width` of the ids, a chunk at a time; shape ``(rows, width)``."""
    total = len(ids) ** width
    for start in range(0, total, CHUNK):
        places = np.arange(start, min(start + CHUNK, total))
        yield ids[np.stack(np.unravel_index(places, (len(ids),) * width), axis=1)]


def shown(tokenizer: tito.Tokenizer, chunks: Iterator[Ids]) -> dict[str, list[int]]:
    """Name of every cause that some span of the rows has, with the first such row."""
    examples: dict[str, list[int]] = {}
    for chunk in chunks:
        offsets = np.arange(len(chunk) + 1) * chunk.shape[1]
        columns = tokenizer.core.audit(np.ascontiguousarray(chunk).reshape(-1), offsets, engine=tokenizer.allowed)
        causes, first = np.unique(columns["span_cause"], return_index=True)
        for cause, span in zip(causes.tolist(), first.tolist(), strict=True):
            name = RULES[_core.CAUSES[cause]].name
            if name not in examples:
                row = int(np.searchsorted(columns["span_offsets"], span, side="right")) - 1
                examples[name] = chunk[row].tolist()
    return examples


def exhaustive(tokenizer: tito.Tokenizer, *, pairs: int, triples: int) -> dict[str, list[int]]:
    """Every cause that the pairs of so many shortest tokens, and the triples of fewer, show, with an example."""
    of_two = shown(tokenizer, rows(shortest(tokenizer, pairs), 2))
    return {**shown(tokenizer, rows(shortest(tokenizer, triples), 3)), **of_two}
