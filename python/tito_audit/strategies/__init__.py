"""Hypothesis strategies for token ids, texts, trajectories and conversations (extra ``test``).

For whoever ships a tokenizer, a chat template or a rollout builder, and wants the drifting case before a run has it.

Example:
    >>> import tito_audit as tito
    >>> from hypothesis import given
    >>> from tito_audit import strategies
    >>> from tokenizers import Tokenizer, decoders, models
    >>> bpe = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
    >>> bpe.decoder = decoders.Fuse()
    >>> tok = tito.load_tokenizer(bpe)
    >>> @given(strategies.non_canonical(tok, min_size=3))
    ... def test_drift(ids):
    ...     assert tito.check(ids, tok).drifted
    >>> test_drift()
"""

from __future__ import annotations

from tito_audit.errors import MissingExtraError

try:
    import hypothesis as _hypothesis  # noqa: F401 - whether it is there
except ImportError as error:
    raise MissingExtraError("tito_audit.strategies", "test") from error

from tito_audit.strategies.causes import causes
from tito_audit.strategies.conversations import conversations
from tito_audit.strategies.ids import canonical, non_canonical, token_ids
from tito_audit.strategies.segmentations import Segmentations, segmentations
from tito_audit.strategies.texts import texts
from tito_audit.strategies.trajectories import Segment, Trajectory, trajectories

__all__ = [
    "Segment",
    "Segmentations",
    "Trajectory",
    "canonical",
    "causes",
    "conversations",
    "non_canonical",
    "segmentations",
    "texts",
    "token_ids",
    "trajectories",
]
