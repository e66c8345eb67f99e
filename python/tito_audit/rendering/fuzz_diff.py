"""Two tokenizers side by side, as text: what differs about them, and which ids, pre-tokens and stored rows change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tito_audit import _core
from tito_audit.fuzzing.difference import Comparison, IdChange
from tito_audit.fuzzing.pretokens import PreToken
from tito_audit.fuzzing.stored import RowChange
from tito_audit.printable import WIDTH, counted, inert, piece
from tito_audit.rendering.fuzz_text import tokenizer_line
from tito_audit.rendering.layout import wrapped
from tito_audit.rendering.style import PLAIN, Role, Style

_INDENT = "  "


def diff_text(
    comparison: Comparison, *, most: int | None, redact: bool = False, width: int = WIDTH, style: Style = PLAIN
) -> str:
    """Write what differs between two tokenizers.

    Args:
        comparison: What was found.
        most: Lines of each kind; None writes all.
        redact: Without the text of pre-tokens, which stored rows may hold.
        width: Cells of a line.
        style: The stylesheet.

    Returns:
        Lines without a line break at the end.
    """
    page = _Page(comparison, most, width, style, redact=redact)
    blocks = [page.head(), page.settings(), page.ids(), page.pretokens(), page.rows(), page.doubts()]
    texts = ("\n".join(block) for block in [*blocks, diff_verdict(comparison, width=width, style=style)])
    return "\n\n".join(text for text in texts if text)


def diff_verdict(comparison: Comparison, *, width: int = WIDTH, style: Style = PLAIN) -> Iterator[str]:
    """Say in a line how it ended."""
    stored, pretokens = comparison.stored, comparison.pretokens
    sizes = [
        f"{counted(len(comparison.ids), 'id')} of other meaning",
        f"{counted(len(pretokens.cut), 'place')} of a text cut otherwise",
        f"{counted(len(pretokens.encoded), 'pre-token')} encoded otherwise",
    ]
    if stored is not None:
        sizes.append(f"{len(stored.changes):,} of {counted(stored.rows, 'stored row')} changed")
    what = ", ".join(sizes)
    word, role, text = _ending(comparison, what)
    first, *rest = wrapped(f"{word}  {text}", width, rest=_INDENT)
    yield first.replace(word, style(word, role), 1)
    yield from rest


def _ending(comparison: Comparison, what: str) -> tuple[str, Role, str]:
    if not comparison.complete:
        return "UNCHECKED", "error", f"not everything could be compared; {what}"
    if comparison.differs:
        return "DIFFERENT", "error", what
    return "SAME", "good", "no setting, id, pre-token or stored row changes"


class _Page:
    def __init__(self, comparison: Comparison, most: int | None, width: int, style: Style, *, redact: bool) -> None:
        self._comparison, self._most, self._redact = comparison, most, redact
        self._width, self._style = width, style

    def head(self) -> Iterator[str]:
        yield f"tito-audit {_core.__version__}  tokenizers {_core.TOKENIZERS_VERSION}"
        for word, tok in (("old", self._comparison.old), ("new", self._comparison.new)):
            yield from wrapped(f"{word}  {tokenizer_line(tok)}", self._width, rest=_INDENT)

    def settings(self) -> Iterator[str]:
        changes = [f"{change.component}: {change.what}" for change in self._comparison.changes]
        return self._block("what differs about them", changes)

    def ids(self) -> Iterator[str]:
        comparison = self._comparison
        yield from self._block("ids that stand for something else", list(map(_id_change, comparison.ids)))
        for words, ids in (("does not come", comparison.broken), ("now comes", comparison.mended)):
            lines = [str(id_) for id_ in ids]
            yield from self._block(f"ids whose text {words} back as them", lines)

    def pretokens(self) -> Iterator[str]:
        pretokens = self._comparison.pretokens
        if pretokens.uncut is not None:
            yield from wrapped(f"texts were compared whole: {pretokens.uncut}", self._width, rest=_INDENT)
        yield from self._block("cut otherwise", [self._cut(each) for each in pretokens.cut])
        agreed = f"encoded otherwise, of {counted(pretokens.compared, 'pre-token')} that both cut alike"
        yield from self._block(agreed, [self._encoded(each) for each in pretokens.encoded])

        if pretokens.long:
            yield f"stretches of more than 400 characters that differ, not shown: {pretokens.long:,}"

    def rows(self) -> Iterator[str]:
        stored = self._comparison.stored
        if stored is None:
            return
        yield from self._block("stored rows that change", list(map(_row, stored.changes)))
        for line in stored.failed:
            yield from wrapped(f"not compared: {inert(line)}", self._width, rest=_INDENT)
        if stored.skipped:
            yield f"not compared: {counted(stored.skipped, 'row')} that cannot be read or encoded"
        if not stored.rows:
            yield "no row was compared"

    def doubts(self) -> Iterator[str]:
        for line in self._comparison.mismatches:
            yield from wrapped(f"TITO010 engine-mismatch: {inert(line)}", self._width, rest=_INDENT)

    def _block(self, title: str, lines: Sequence[str]) -> Iterator[str]:
        if not lines:
            return
        yield self._style(f"{title}: {len(lines):,}", "strong")
        for line in lines[: self._most]:
            yield from wrapped(line, self._width, first=_INDENT, rest=_INDENT * 2)
        if self._most is not None and len(lines) > self._most:
            yield f"{_INDENT}… and {len(lines) - self._most:,} more (--all lists them)"

    def _cut(self, each: PreToken) -> str:
        return f"{self._texts(each.old)} -> {self._texts(each.new)}"

    def _encoded(self, each: PreToken) -> str:
        return f"{self._texts([each.text])}: {_ids(each.old_ids)} -> {_ids(each.new_ids)}"

    def _texts(self, texts: Iterable[str]) -> str:
        if self._redact:
            return " ".join(f"<{counted(len(text), 'character')}>" for text in texts)
        return " ".join(piece(text.encode("utf-8", "replace")) for text in texts) or "nothing"


def _id_change(change: IdChange) -> str:
    old, new = (
        "no token" if data is None else f"{piece(data)}{' (added)' if added else ''}"
        for data, added in ((change.old, change.old_added), (change.new, change.new_added))
    )
    return f"{change.id}: {old} -> {new}"


def _row(change: RowChange) -> str:
    what = []
    if change.decoded:
        what.append("its ids decode to another text")
    if change.encoded:
        what.append(f"its text is encoded otherwise from token {change.first_diff} on")
    if change.drift is not None:
        what.append(f"it {change.drift} to drift")
    return f"{inert(change.source)}:{change.row}: {', '.join(what)}"


def _ids(ids: tuple[int, ...] | None) -> str:
    return "cannot be encoded" if ids is None else " ".join(map(str, ids)) or "nothing"
