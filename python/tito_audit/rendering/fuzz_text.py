"""A fuzzed tokenizer as text: what is new, the smallest example of each cause, entries that do not come back, tests.

Nothing is computed here. Every text that came from a tokenizer was quoted by `piece` or passes `inert`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tito_audit import _core
from tito_audit.fuzzing.baseline import News
from tito_audit.fuzzing.entries import CANNOT, Entry
from tito_audit.fuzzing.report import FuzzReport
from tito_audit.printable import WIDTH, counted, inert, piece
from tito_audit.rendering.layout import Column, joined, table, wrapped
from tito_audit.rendering.style import PLAIN, Role, Style
from tito_audit.rules.lookup import code_of
from tito_audit.tokenizer import Tokenizer

_INDENT = "  "
_MOST_PIECES = 8


def fuzz_text(
    report: FuzzReport,
    *,
    news: News | None,
    tests: Sequence[str],
    most_entries: int | None,
    width: int = WIDTH,
    style: Style = PLAIN,
) -> str:
    """Write what a search found.

    Args:
        report: What it found.
        news: What of it the baseline does not have; None without a baseline.
        tests: Source of regression tests, with what they import.
        most_entries: Entries to list for each cause; None lists all.
        width: Cells of a line; a line of a test may be longer.
        style: The stylesheet.

    Returns:
        Lines without a line break at the end.
    """
    page = _Page(report, most_entries, width, style)
    blocks = [
        page.head(),
        *([] if news is None else [page.news(news)]),
        page.causes(),
        page.entries(),
        page.ordinary(),
        page.tests(tests),
        page.doubts(),
        fuzz_verdict(report, news, width=width, style=style),
    ]
    texts = ("\n".join(block) for block in blocks)
    return "\n\n".join(text for text in texts if text)


def fuzz_verdict(report: FuzzReport, news: News | None, *, width: int = WIDTH, style: Style = PLAIN) -> Iterator[str]:
    """Say in a line how it ended."""
    found = (
        f"{counted(len(report.examples), 'cause')} of drift, {counted(len(report.entries), 'entry')} not self-canonical"
    )
    word, role, text = _ending(report, news, found)
    first, *rest = wrapped(f"{word}  {text}", width, rest=_INDENT)
    yield first.replace(word, style(word, role), 1)
    yield from rest


def _ending(report: FuzzReport, news: News | None, found: str) -> tuple[str, Role, str]:
    if report.mismatches:
        return "UNCHECKED", "error", "the fast engine and the reference disagree (TITO010)"
    if report.searched.interrupt is not None:
        return "STOPPED", "error", f"before the end; {found} so far"
    if news is None:
        return "FOUND", "good", f"{found}; without a baseline nothing is over the bar"
    if news:
        verb = "is" if news.total == 1 else "are"
        return "FAILED", "error", f"{counted(news.total, 'thing')} {verb} new against the baseline ({found})"
    return "OK", "good", f"nothing is new against the baseline ({found})"


def tokenizer_line(tok: Tokenizer) -> str:
    """Name a tokenizer: source, model, size, digest, engine."""
    size = counted(tok.vocab_size, "id")
    return f"{inert(tok.source)}  {tok.model}  {size}  sha256:{tok.sha256[:8]}  {tok.engine} engine"


def pieces_of(ids: Sequence[int], data: Mapping[int, bytes]) -> str:
    """Quote tokens, the first ones where they are many."""
    if not ids:
        return "nothing"
    shown = " ".join(piece(data.get(id_, b"")) for id_ in ids[:_MOST_PIECES])
    return f"{shown} …" if len(ids) > _MOST_PIECES else shown


class _Page:
    def __init__(self, report: FuzzReport, most: int | None, width: int, style: Style) -> None:
        self._report, self._most = report, most
        self._width, self._style = width, style

    def head(self) -> Iterator[str]:
        report, searched = self._report, self._report.searched
        start = f"tito-audit {_core.__version__}  tokenizers {_core.TOKENIZERS_VERSION}"
        yield from self._wrap(f"{start}  {tokenizer_line(report.tok)}")
        ended = {"seconds": "then the time was up", "examples": "the budget", "interrupt": "then it was stopped"}
        looked = f"looked at {counted(report.entries_judged, 'entry')} of the vocabulary, all there are, and at"
        budget = f"{counted(searched.windows, 'window')} of neighbouring tokens ({ended[searched.ended]})"
        yield from self._wrap(f"{looked} {budget}, seed {report.seed}")
        if report.normalizer:
            yield from self._wrap(f"normalizer: {', '.join(map(inert, report.normalizer))}")

    def news(self, news: News) -> Iterator[str]:
        if not news and not (news.gone_causes or news.gone_entries or news.found_later):
            return
        yield self._style("new against the baseline" if news else "against the baseline", "strong")
        for change in news.changes:
            yield from self._item(f"{change.component}: {change.what}")
        for token in news.ordinary:
            yield from self._item(f"ordinary text spells the added token {self._quoted(token.content)}, id {token.id}")
        for example in news.causes:
            back = pieces_of(example.reencoded, self._report.bytes)
            words = f"{pieces_of(example.ids, self._report.bytes)} comes back as {back}"
            yield from self._item(f"cause {example.cause}: {words}")
        for entry in news.entries[: self._most]:
            yield from self._item(f"not self-canonical: {self._entry(entry)} ({entry.cause})")
        yield from self._more(len(news.entries))
        if news.gone_entries:
            verb = "comes" if len(news.gone_entries) == 1 else "come"
            ids = counted(len(news.gone_entries), "id")
            yield from self._item(f"no news: {ids} of the baseline {verb} back now")
        for cause in news.gone_causes:
            yield from self._item(f"no news: {inert(cause)} was not found this time")
        for cause in news.found_later:
            words = "found by this search alone; the tokenizer is the same, so write the baseline anew to keep it"
            yield from self._item(f"no news: {cause} was {words}")

    def causes(self) -> Iterator[str]:
        report = self._report
        if not report.examples:
            yield "no cause of drift was found"
            return
        yield self._style("smallest example of each cause", "strong")
        columns = (
            Column("code"),
            Column("cause"),
            Column("sampled", least=12),
            Column("ids", least=6),
            Column("comes back as", least=12),
            Column("ids", least=6, drop=1),
            Column("", drop=2),
        )
        rows = [
            (
                code_of(example.cause),
                example.cause,
                pieces_of(example.ids, report.bytes),
                _numbers(example.ids),
                pieces_of(example.reencoded, report.bytes),
                _numbers(example.reencoded),
                "artefact" if example.is_artefact else "silent" if example.silent else "",
            )
            for example in report.examples
        ]
        head, *lines = table(columns, rows, self._width)
        yield self._style(joined(head), "faint")
        yield from map(joined, lines)
        named = ", ".join(map(inert, report.normalizer))
        if named and any(example.cause == "normalizer" for example in report.examples):
            yield from self._wrap(f"the normalizer is {named}")

    def entries(self) -> Iterator[str]:
        report = self._report
        whole = counted(report.entries_judged, "entry")
        if not report.entries:
            few = {0: "the vocabulary has no entry", 1: "the only entry of the vocabulary is self-canonical"}
            yield few.get(report.entries_judged, f"all {whole} of the vocabulary are self-canonical")
            return
        yield self._style(f"not self-canonical: {len(report.entries):,} of {whole}", "strong")
        for cause, entries in report.entries_of().items():
            yield from self._wrap(f"{cause}: {len(entries):,}")
            for entry in entries[: self._most]:
                yield from self._item(self._entry(entry))
            yield from self._more(len(entries))

    def ordinary(self) -> Iterator[str]:
        tokens = self._report.ordinary
        if not tokens:
            return
        yield self._style("added tokens whose text is ordinary: texts hold it that mean nothing by it", "strong")
        for token in tokens[: self._most]:
            spelled = pieces_of(token.spelled, self._report.bytes)
            yield from self._item(
                f"{token.id} {self._quoted(token.content)}, spelled {spelled} {_numbers(token.spelled)}"
            )
        yield from self._more(len(tokens))

    def tests(self, tests: Sequence[str]) -> Iterator[str]:
        if not tests:
            return
        yield self._style("regression tests, ready to paste", "strong")
        yield ""
        yield "\n\n\n".join(tests)

    def doubts(self) -> Iterator[str]:
        for line in self._report.mismatches:
            yield from self._wrap(f"TITO010 engine-mismatch: {inert(line)}")

    def _entry(self, entry: Entry) -> str:
        back = f"comes back as {pieces_of(entry.reencoded, self._report.bytes)} {_numbers(entry.reencoded)}".rstrip()
        if entry.cause == CANNOT:
            back = "its text cannot be encoded"
        return f"{entry.id} {piece(entry.data)} {back}"

    def _more(self, count: int) -> Iterator[str]:
        if self._most is not None and count > self._most:
            yield from self._item(f"… and {count - self._most:,} more (--all-entries lists them)")

    def _item(self, text: str) -> Iterator[str]:
        return wrapped(text, self._width, first=_INDENT, rest=_INDENT * 2)

    def _wrap(self, text: str) -> Iterator[str]:
        return wrapped(text, self._width, rest=_INDENT)

    @staticmethod
    def _quoted(content: str) -> str:
        return piece(content.encode("utf-8", "replace"))


def _numbers(ids: Sequence[int]) -> str:
    shown = " ".join(map(str, ids[:_MOST_PIECES]))
    return f"{shown} …" if len(ids) > _MOST_PIECES else shown
