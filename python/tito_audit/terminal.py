"""The text report: findings, a table, a summary, and a last line that says how it ended. Nothing is computed here.

Every text that came from a file or a tokenizer passes `inert` or was made printable before.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from tito_audit import _core
from tito_audit.printable import WIDTH, clipped, counted, inert
from tito_audit.report import FailOn, Report, RowFinding, tokenizer_doubt
from tito_audit.rules import SEVERITIES, rule

SHOWN_FINDINGS = 10
SHOWN_TURNS = 12
_SHOWN_NAMES = 3
_ID_WIDTH = 60


def text_report(report: Report, *, fail_on: FailOn = "realised", quiet: bool = False) -> str:
    """Write a report for people.

    Args:
        report: The report.
        fail_on: The bar, as in `Report.over_the_bar`.
        quiet: The table and the last lines only.

    Returns:
        Printable lines, without a line break at the end.
    """
    blocks: list[Iterable[str]] = []
    if not quiet:
        blocks.append(_head(report))
        picked = shown(report.findings)
        drawn = set[tuple[str, ...]]()
        for found, fix in zip(picked, advice(rule(found.finding.code).fix for found in picked), strict=True):
            blocks.append(_finding(found, drawn=found.context not in drawn, fix=fix))
            drawn.add(found.context)
    blocks.append(_table(report))
    if not quiet and report.statistics.rows_checked:
        blocks += [_turns(report), _summary(report)]
    blocks.append(verdict_lines(report, fail_on))
    texts = ("\n".join(block) for block in blocks)
    return "\n\n".join(text for text in texts if text)


def shown(findings: Sequence[RowFinding]) -> list[RowFinding]:
    """Choose what to show: one finding per code first, errors before notes, then those with most sampled tokens.

    Of the latter only what is new: no message twice, and no place that looks like one before.
    """
    first: dict[str, RowFinding] = {}
    for found in findings:
        first.setdefault(found.finding.code, found)
    rest = [found for found in findings if first[found.finding.code] is not found]
    rest.sort(key=lambda found: (_rank(found.finding.code), -found.sampled_count))
    leading = sorted(first.values(), key=lambda found: (_rank(found.finding.code), found.finding.code))
    said = {(found.finding.code, found.finding.message) for found in leading}
    drawn = {found.context for found in leading if found.context}
    new = []
    for found in rest:
        words = (found.finding.code, found.finding.message)
        if words not in said and found.context not in drawn:
            new.append(found)
            said.add(words)
            drawn |= {found.context} if found.context else set()
    return (leading + new)[:SHOWN_FINDINGS]


def advice(fixes: Iterable[str]) -> Iterator[str | None]:
    """Say of each advice what none before it said."""
    given: list[str] = []
    for fix in fixes:
        known = max((each for each in given if fix.startswith(each)), key=len, default="")
        yield fix.removeprefix(known).strip() or None
        given.append(fix)


def _rank(code: str) -> int:
    return SEVERITIES.index(rule(code).severity)


def _head(report: Report) -> Iterator[str]:
    tokenizer = report.tokenizer
    yield (
        f"tito-audit {_core.__version__}  tokenizers {_core.TOKENIZERS_VERSION}  {inert(tokenizer.source)}  "
        f"sha256:{tokenizer.sha256[:8]}  {tokenizer.vocab_size:,} ids"
    )
    for found in report.columns:
        names = ", ".join(clipped(inert(name), _ID_WIDTH) for name in found.columns.values())
        where = inert(found.first) if found.sources == 1 else f"{found.sources:,} sources"
        yield f"columns found: {names}  ({where})"
    yield from (f"note: {note}" for note in report.notes)


def _finding(found: RowFinding, *, drawn: bool, fix: str | None) -> Iterator[str]:
    finding = found.finding
    yield f"{finding.code} {finding.name}: {finding.message}"
    if found.source is not None:
        yield f"  --> {_place(found)}"
    if drawn:
        yield from found.context
    if fix is not None:
        yield from textwrap.wrap(fix, WIDTH, initial_indent="  help: ", subsequent_indent="        ")


def _place(found: RowFinding) -> str:
    finding = found.finding
    parts = [f"{inert(found.source or '')}:{found.row}"]
    if found.id is not None:
        parts.append(f"id {clipped(inert(str(found.id)), _ID_WIDTH)}")
    if found.turn is not None:
        parts.append(f"turn {found.turn}")
    if found.column is None and finding.token_start is not None and finding.token_stop is not None:
        parts.append(f"tokens {finding.token_start}..{finding.token_stop}")
    return "  ".join(parts)


def _table(report: Report) -> Iterator[str]:
    statistics = report.statistics
    counts = sorted(statistics.by_code.items(), key=lambda item: (_rank(item[0]), item[0]))
    rows = [
        (
            code,
            rule(code).name,
            rule(code).severity,
            f"{count.rows:,}",
            _share(count.rows, statistics.whole(code)),
            f"{count.findings:,}",
            "" if count.tokens is None else f"{count.tokens:,}",
            "" if count.first is None else f"{inert(PurePath(count.first[0]).name)}:{count.first[1]}",
        )
        for code, count in counts
    ]
    heads = ("code", "name", "severity", "rows", "share", "findings", "tokens", "first seen")
    return _aligned([heads, *rows], "lllrrrrl") if rows else iter(())


def _turns(report: Report) -> Iterator[str]:
    turns = sorted(report.statistics.by_turn.items())
    rows = [
        (
            str(turn),
            f"{count.rows:,}",
            f"{count.drift_rows:,}",
            _share(count.drift_rows, count.rows),
            _known(count.trainable_tokens),
            _known(count.drift_trainable_tokens),
            _share(count.drift_trainable_tokens or 0, count.trainable_tokens or 0),
        )
        for turn, count in turns[:SHOWN_TURNS]
    ]
    if not rows:
        return
    heads = ("turn", "rows", "drift rows", "share", "trainable tokens", "in drift spans", "share")
    yield from _aligned([heads, *rows], "rrrrrrr")
    if len(turns) > len(rows):
        yield f"  and {len(turns) - len(rows):,} more turns"


def _summary(report: Report) -> Iterator[str]:
    s = report.statistics
    trainable = "" if s.trainable_tokens is None else f" ({s.trainable_tokens:,} trainable)"
    yield (
        f"  checked {s.rows_checked:,} of {counted(s.rows, 'row')}, {counted(s.tokens, 'token')}{trainable}, "
        f"{s.rows_skipped:,} skipped, in {report.seconds:.1f} s"
    )
    lines = {
        "drift (what a re-encode would change)": (
            f"{_rows(s.drift_rows, s.rows_checked)}, {s.silent_drift_rows:,} of them silent; "
            f"{counted(s.drift_tokens, 'token')}{_of_them(s.drift_trainable_tokens, s.trainable_tokens)}"
        ),
        "drift with the pipeline's decode options": (
            None if s.pipeline_drift_rows is None else _rows(s.pipeline_drift_rows, s.rows_checked)
        ),
        "spacing artefacts, no drift": _rows(s.artefact_rows, s.rows_checked) if s.artefact_rows else None,
        "spans at the start of a row without context": f"{s.row_start_spans:,}" if s.row_start_spans else None,
        "invalid UTF-8": _rows(s.invalid_utf8_rows, s.rows_checked),
        "ownership": _ownership(report),
        "findings": f"{report.findings_total:,} ({len(report.findings):,} kept, {len(shown(report.findings))} shown)",
    }
    yield from (f"  {name}: {text}" for name, text in lines.items() if text is not None)


def _ownership(report: Report) -> str:
    s = report.statistics
    if s.owner_crossing_tokens is None or s.shared_characters is None:
        return "unknown, there is no mask"
    straddling = "unknown (no mask)" if s.straddling_tokens is None else f"{s.straddling_tokens:,}"
    crossing, shared = f"{s.owner_crossing_tokens:,}", f"{s.shared_characters:,}"
    return f"straddling tokens {straddling}, owner-crossing tokens {crossing}, shared characters {shared}"


def verdict_lines(report: Report, fail_on: FailOn) -> Iterator[str]:
    """Say how it ended: sources that could not be checked, what is over the bar, and the verdict as the last line."""
    *lines, last = _verdict(report, fail_on)
    doubt = tokenizer_doubt(report.statistics)
    yield from lines
    yield last if doubt is None else f"{last}  ({doubt})"


def _verdict(report: Report, fail_on: FailOn) -> Iterator[str]:
    s = report.statistics
    yield from (f"error: {_named(unchecked.code)}{unchecked.message}" for unchecked in report.unchecked)
    reasons = report.over_the_bar(fail_on)
    if reasons:
        yield f"FAILED  {_some(reasons, '; ')}  (bar: {fail_on})"
    if report.partial:
        yield f"STOPPED  before the end; the report covers {counted(s.rows_checked, 'row')}"
    elif report.unchecked:
        names = [inert(unchecked.source) for unchecked in report.unchecked]
        yield f"COULD NOT CHECK  {_some(names, ', ')}  (checked: {counted(s.rows_checked, 'row')})"
    elif not report.complete:
        yield f"COULD NOT CHECK  {'the only row cannot' if s.rows == 1 else f'none of {s.rows:,} rows can'} be read"
    elif not reasons:
        exposed = ""
        if s.drift_rows:
            exposed = f"  (exposure: a re-encode would change {_rows(s.drift_rows, s.rows_checked)})"
        sound = f"nothing over the bar ({fail_on})"
        if fail_on == "realised":  # which must not read as if there were no realised drift: nobody looked
            sound = "every record is sound (what was trained is not compared)"
        yield f"OK  {counted(s.rows_checked, 'row')}, {counted(s.tokens, 'token')}: {sound}{exposed}"


def _rows(count: int, whole: int) -> str:
    return f"{counted(count, 'row')} ({_share(count, whole)})"


def _of_them(count: int | None, whole: int | None) -> str:
    """Say how many of some tokens are trainable, and what share of all trainable ones that is."""
    return (
        ""
        if count is None or whole is None
        else f", {count:,} of them trainable ({_share(count, whole)} of all trainable)"
    )


def _some(names: Sequence[str], separator: str) -> str:
    more = f"{separator}{len(names) - _SHOWN_NAMES:,} more" if len(names) > _SHOWN_NAMES else ""
    return separator.join(names[:_SHOWN_NAMES]) + more


def _named(code: str | None) -> str:
    """Write a code in front of a message."""
    return "" if code is None else f"{code} {rule(code).name}: "


def _known(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "-"


def _aligned(rows: Sequence[Sequence[str]], sides: str) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            text.ljust(width) if side == "l" else text.rjust(width)
            for text, width, side in zip(row, widths, sides, strict=True)
        )
        yield "  " + "  ".join(cells).rstrip()
