"""Two tokenizers side by side: settings, ids, pre-tokens, and rollouts that were stored with the first one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tito_audit.candidates.vocabulary import Vocabulary
from tito_audit.fuzzing.changes import Change, changes
from tito_audit.fuzzing.entries import not_self_canonical
from tito_audit.fuzzing.judging import Judge
from tito_audit.fuzzing.pretokens import PROBES, PreTokens
from tito_audit.fuzzing.profile import Anatomy
from tito_audit.fuzzing.stored import Stored, compare_stored
from tito_audit.reading.rows import ReadOptions
from tito_audit.tokenizer import Tokenizer


class IdChange(NamedTuple):
    """An id that stands for something else.

    Attributes:
        id: The id.
        old: Bytes that it stands for; None where it is no token.
        new: Likewise.
        old_added: It is an added token.
        new_added: Likewise.
    """

    id: int
    old: bytes | None
    new: bytes | None
    old_added: bool
    new_added: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What differs between two tokenizers.

    Attributes:
        old: The first.
        new: The second.
        changes: What differs about them, by component.
        ids: Ids that stand for something else.
        broken: Ids of the same token that came back from their own text with the old tokenizer and do not with the new.
        mended: Likewise the other way round.
        pretokens: Pre-tokens of the texts that were looked at.
        stored: What became of stored rows; None where none were given.
        mismatches: Rows on which the fast engine and the reference disagree.
    """

    old: Tokenizer
    new: Tokenizer
    changes: tuple[Change, ...]
    ids: tuple[IdChange, ...]
    broken: tuple[int, ...]
    mended: tuple[int, ...]
    pretokens: PreTokens
    stored: Stored | None
    mismatches: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether anything changes."""
        rows = self.stored is not None and bool(self.stored.changes)
        texts = bool(self.pretokens.cut or self.pretokens.encoded or self.pretokens.long)
        return bool(self.changes or self.ids or self.broken or self.mended) or texts or rows

    @property
    def complete(self) -> bool:
        """Whether everything asked for was compared: every row of every source, and at least one."""
        stored = self.stored
        return not self.mismatches and (
            stored is None or bool(stored.rows and not stored.skipped and not stored.failed)
        )


def compare(
    old: Tokenizer,
    new: Tokenizer,
    sources: Sequence[str] = (),
    *,
    reading: ReadOptions,
    limit: int | None = None,
) -> Comparison:
    """Compare two tokenizers.

    Pre-tokens are those of the text of every token of both, of a few texts known to be cut in different ways, and of
    every stored row.

    Args:
        old: The tokenizer as it was.
        new: The tokenizer as it is.
        sources: Files of rollouts that were sampled with the old one.
        reading: How their records are read.
        limit: Only so many rows.
    """
    anatomies, judges = (Anatomy(old), Anatomy(new)), (Judge(old), Judge(new))
    before, after = (Vocabulary(tok, anatomy.ids) for tok, anatomy in zip((old, new), anatomies, strict=True))
    bad = [{entry.id for entry in not_self_canonical(*each)} for each in zip((before, after), judges, strict=True)]
    same = {id_ for id_, data in before.bytes.items() if after.bytes.get(id_) == data}
    pretokens = PreTokens(old, new)
    pretokens.look_at(PROBES)
    pretokens.look_at(_texts(before, after))
    stored = None
    if sources:
        stored = compare_stored(sources, old, new, reading, limit=limit, tell=lambda text: pretokens.look_at([text]))
    return Comparison(
        old=old,
        new=new,
        changes=changes(anatomies[0].profile, anatomies[1].profile, anatomies[1].pieces),
        ids=tuple(_ids(before, after)),
        broken=tuple(sorted(same & (bad[1] - bad[0]))),
        mended=tuple(sorted(same & (bad[0] - bad[1]))),
        pretokens=pretokens,
        stored=stored,
        mismatches=tuple(line for judge in judges for line in judge.mismatches),
    )


def _ids(old: Vocabulary, new: Vocabulary) -> list[IdChange]:
    found = []
    for id_ in sorted({*old.bytes, *new.bytes}):
        change = IdChange(id_, old.bytes.get(id_), new.bytes.get(id_), id_ in old.added, id_ in new.added)
        if change.old != change.new or change.old_added != change.new_added:
            found.append(change)
    return found


def _texts(*vocabularies: Vocabulary) -> list[str]:
    """The texts that tokens of both stand for, each once, without those that are no text."""
    texts: dict[str, None] = {}
    for vocabulary in vocabularies:
        for token in vocabulary.every:
            try:
                texts[vocabulary.bytes[token].decode()] = None
            except UnicodeDecodeError:
                continue
    return list(texts)
