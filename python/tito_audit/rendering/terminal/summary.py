"""What was counted, in words."""

from __future__ import annotations

from collections.abc import Iterator

from tito_audit.printable import counted, inert
from tito_audit.rendering.layout import wrapped
from tito_audit.rendering.terminal.findings import shown
from tito_audit.rendering.terminal.page import Page, rows_of, share
from tito_audit.report import Report


def summary_lines(page: Page) -> Iterator[str]:
    """Write a line for each thing that was counted."""
    for name, text in _summary(page):
        first, *more = wrapped(f"{name}: {text}" if name else text, page.width, first="  ", rest="    ")
        yield first
        yield from more


def _summary(page: Page) -> Iterator[tuple[str, str]]:
    report, s = page.report, page.report.statistics
    trainable = "" if s.trainable_tokens is None else f" ({s.trainable_tokens:,} trainable)"
    skipped = f", {s.rows_skipped:,} skipped" if s.rows_skipped else ""
    size = f"{counted(s.rows, 'row')}, {counted(s.tokens, 'token')}{trainable}{skipped}"
    yield "", f"checked {s.rows_checked:,} of {size}, in {report.seconds:.1f} s"
    yield "realised drift", _realised(report)
    silent = f", {s.silent_drift_rows:,} of them silently" if s.silent_drift_rows else ""
    tokens = f"; {counted(s.drift_tokens, 'token')}{_of_them(s.drift_trainable_tokens, s.trainable_tokens)}"
    changed = f"a re-encode would change {rows_of(s.drift_rows, s.rows_checked)}{silent}{tokens}"
    yield "exposure", changed if s.drift_rows else "a re-encode would change no row"
    if s.accepted_drift_rows:
        yield "known drift", f"{rows_of(s.accepted_drift_rows, s.rows_checked)}, ignored or in the baseline"
    if s.pipeline_drift_rows is not None:
        yield "exposure with the pipeline's decode options", rows_of(s.pipeline_drift_rows, s.rows_checked)
    if s.artefact_rows:
        yield "spacing artefacts, no drift", rows_of(s.artefact_rows, s.rows_checked)
    if s.row_start_spans:
        yield "spans at the start of a row without context", f"{s.row_start_spans:,}"
    if s.invalid_utf8_rows:
        yield "invalid UTF-8", rows_of(s.invalid_utf8_rows, s.rows_checked)
    yield "ownership", _ownership(report)
    if s.rows_by_engine and "fast" in {report.tokenizer.engine, *s.rows_by_engine}:
        yield "engines", _engines(report)
    yield (
        "findings",
        f"{report.findings_total:,} ({len(report.findings):,} kept, {len(shown(report.findings))} shown)",
    )


def _realised(report: Report) -> str:
    s = report.statistics
    if s.realised_rows is None:
        return "not compared: no row says what was trained"
    if not s.realised_rows:
        return f"none, the training ids equal the sampled ids ({counted(s.compared_rows, 'row')} compared)"
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in s.realised_by_kind.items() if count)
    said = "" if s.compared_rows == s.rows_checked else f" ({counted(s.compared_rows, 'row')} compared)"
    return f"{rows_of(s.realised_rows, s.compared_rows)}{': ' if kinds else ''}{kinds}{said}"


def _ownership(report: Report) -> str:
    s = report.statistics
    if s.owner_crossing_tokens is None or s.shared_characters is None:
        return "unknown, there is no mask" if report.tokenizer.engine != "python" else "unknown to this engine"
    straddling = "unknown (no mask)" if s.straddling_tokens is None else f"{s.straddling_tokens:,}"
    crossing, shared = f"{s.owner_crossing_tokens:,}", f"{s.shared_characters:,}"
    return f"straddling tokens {straddling}, owner-crossing tokens {crossing}, shared characters {shared}"


def _engines(report: Report) -> str:
    s = report.statistics
    judged = ", ".join(f"{inert(engine)} {counted(rows, 'row')}" for engine, rows in sorted(s.rows_by_engine.items()))
    return f"{judged}; {counted(s.rechecked, 'row')} of the fast engine judged again by the reference"


def _of_them(count: int | None, whole: int | None) -> str:
    """Say how many of some tokens are trainable, and what share of all trainable ones that is."""
    if count is None or whole is None:
        return ""
    return f", {count:,} of them trainable ({share(count, whole)} of all trainable)"
