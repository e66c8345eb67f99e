"""What was audited, and with what."""

from __future__ import annotations

from collections.abc import Iterator

from tito_audit import _core
from tito_audit.printable import clipped, counted, inert
from tito_audit.rendering.layout import flowed, short_path, wrapped
from tito_audit.rendering.terminal.page import ID_WIDTH, Page
from tito_audit.report import tokenizer_doubt


def head_lines(page: Page) -> Iterator[str]:
    """Name the versions, the tokenizer, the columns that were found, and what to know beside."""
    report, width = page.report, page.width
    tokenizer = report.tokenizer
    parts = (
        f"tito-audit {_core.__version__}",
        f"tokenizers {_core.TOKENIZERS_VERSION}",
        short_path(inert(tokenizer.source), width - 2),
        f"sha256:{tokenizer.sha256[:8]}",
        *([counted(tokenizer.vocab_size, "id")] if tokenizer.vocab_size else []),  # some objects do not say
        f"{inert(tokenizer.engine)} engine",
    )
    first, *more = flowed(parts, width, rest="  ")
    yield page.style(first, "strong")
    yield from more
    if tokenizer.engine == "reference" and tokenizer.not_fast is not None:
        yield from wrapped(f"not the fast engine: {inert(tokenizer.not_fast)}", width, rest="  ")
    for found in report.columns:
        names = ", ".join(clipped(inert(name), ID_WIDTH) for name in found.columns.values())
        where = short_path(inert(found.first), width // 2) if found.sources == 1 else f"{found.sources:,} sources"
        yield from wrapped(f"columns found: {names}  ({where})", width, rest="  ")
    doubt = tokenizer_doubt(report.statistics)  # the last lines say it
    for note in report.notes:
        if note != doubt:
            yield from wrapped(f"note: {inert(note)}", width, rest="  ")
