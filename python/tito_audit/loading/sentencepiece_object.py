"""A SentencePiece model that answers itself, for what the reference has no exact counterpart to."""

from __future__ import annotations

import hashlib
import re
from itertools import groupby
from typing import Any

from tito_audit.loading.python_object import Added


class SentencePiece:
    """A ``SentencePieceProcessor`` between control pieces.

    SentencePiece prints nothing for a control piece (``<s>``, ``</s>``) and never reads one from text; a training
    pipeline does both. So they are cut out here, and what stands between is its own answer.

    Attributes:
        sha256: Hash of the model.
        added_tokens_decoder: The control pieces, by id.
    """

    def __init__(self, processor: Any, control: dict[int, str], data: bytes) -> None:  # noqa: ANN401 - a lazy package
        """Wrap a processor.

        Args:
            processor: A ``SentencePieceProcessor``.
            control: Control pieces by id.
            data: The model, for its hash.
        """
        self._processor = processor
        self._ids = {content: id_ for id_, content in control.items()}
        # The longest first; without any, a pattern that matches nowhere.
        longest = sorted(self._ids, key=len, reverse=True)
        self._control = re.compile(f"({'|'.join(map(re.escape, longest))})" if longest else "((?!))")
        self.added_tokens_decoder = {id_: Added(id_, content, True, False) for id_, content in control.items()}  # noqa: FBT003 - its fields
        self.sha256 = hashlib.sha256(data).hexdigest()

    def vocab_size(self) -> int:
        """Number of pieces."""
        return int(self._processor.vocab_size())

    def encode(self, text: str) -> list[int]:
        """Encode what stands between control pieces, and give those their ids."""
        ids: list[int] = []
        for place, part in enumerate(self._control.split(text)):
            ids += [self._ids[part]] if place % 2 else self._processor.encode(part)
        return ids

    def decode(self, ids: list[int]) -> str:
        """Decode what stands between control pieces, and print those as they are spelled."""
        parts = []
        for is_control, run in groupby(ids, self.added_tokens_decoder.__contains__):
            if is_control:
                parts += [self.added_tokens_decoder[id_].content for id_ in run]
            else:
                parts.append(self._processor.decode(list(run)))
        return "".join(parts)
