"""What an audit of a dataset found: statistics, a bounded number of findings, and what could not be checked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from tito_audit import _core
from tito_audit.auditing.counts import CodeCount, Statistics, TurnCount
from tito_audit.auditing.kept import Kept
from tito_audit.auditing.row_findings import RowFinding, WorstRow
from tito_audit.bar import Bar
from tito_audit.errors import ReportError
from tito_audit.printable import counted, inert
from tito_audit.records import shown
from tito_audit.rules import RULES, rule
from tito_audit.stored_json import Kind, decoded, read_stored, shaped
from tito_audit.tokenizer import Tokenizer
from tito_audit.whole_file import write_whole

KIND = Kind(
    "tito_audit/report", 1, "report", " of tito-audit", "write one with: tito-audit check ... --output-format json"
)

MOST_WORST = 5
"""Rows that `Report.worst` names."""

_DEFAULT_BAR = Bar()


def tokenizer_doubt(statistics: Statistics) -> str | None:
    """Ask whether it is the right tokenizer where nearly everything drifts; None where nothing speaks against it."""
    if not statistics.looks_like_another_tokenizer:
        return None
    rows, tokens = statistics.drift_rows / statistics.rows_checked, statistics.drift_tokens / statistics.tokens
    return f"{rows:.0%} of rows drift, {tokens:.0%} of their tokens: is this the sampler's tokenizer?"


class Unchecked(NamedTuple):
    """A source that could not be read, or not to its end, or whose rows cannot be relied upon.

    Attributes:
        source: Its name.
        code: ``"TITO006"`` where it holds no token ids, ``"TITO010"`` where the fast engine and the reference disagree
            on one of its rows, else None.
        message: What is wrong with it and what to do, printable.
    """

    source: str
    code: str | None
    message: str


class ColumnsFound(NamedTuple):
    """Columns that sources were read by.

    Attributes:
        columns: Role to column name.
        sources: Number of sources read so.
        first: The first of them, by name.
    """

    columns: dict[str, str]
    sources: int
    first: str


class Note(NamedTuple):
    """What a reader of the report has to know about sources.

    Attributes:
        text: Printable, without the name of a source.
        sources: Number of sources it is about.
        first: The first of them, by name.
    """

    text: str
    sources: int
    first: str

    def __str__(self) -> str:
        """Write it with the first source."""
        more = f" and {self.sources - 1:,} more" if self.sources > 1 else ""
        return f"{inert(self.first)}{more}: {self.text}"


class TokenizerInfo(NamedTuple):
    """The tokenizer of the audit.

    Attributes:
        source: Where it came from.
        sha256: Hex digest of its ``tokenizer.json``.
        vocab_size: Number of ids, added tokens included.
        changed: Settings that loading switched off.
        engine: What judges rows where it can: ``"fast"`` or ``"reference"`` or, for an object that only Python knows,
            ``"python"``; `Statistics.rows_by_engine` counts.
        not_fast: Why no fast engine judges; None where one does.
    """

    source: str
    sha256: str
    vocab_size: int
    changed: tuple[str, ...]
    engine: str
    not_fast: str | None

    @classmethod
    def of(cls, tok: Tokenizer) -> Self:
        """Describe a loaded tokenizer."""
        return cls(tok.source, tok.sha256, tok.vocab_size, tok.changed, tok.engine, tok.not_fast)

    @property
    def identity(self) -> tuple[object, ...]:
        """What reports that are added up have in common, whatever engine judged on which machine."""
        return self.sha256, self.vocab_size, self.changed

    def order(self) -> tuple[object, ...]:
        """Sort the names that one tokenizer goes by."""
        return self.source, *self.identity, self.engine, self.not_fast or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of `tito_audit.audit`. ``str()`` is the text report, `to_json` the one for programs.

    Reports of parts of a dataset add up: `merge` is associative and commutative.

    Attributes:
        tokenizer: The tokenizer.
        statistics: The counts, of everything.
        findings: Kept findings, by source, row and token; a fair share for each code, the first of each.
        max_findings: Most findings that are kept.
        worst: Rows that drift most, worst first.
        unchecked: Sources that could not be checked, by name.
        columns: Columns that the sources were read by.
        source_notes: What else to know about sources.
        milliseconds: Time that the audit took; of a merged report, that all parts took together.
        partial: It was stopped before the end.
    """

    tokenizer: TokenizerInfo
    statistics: Statistics
    findings: Sequence[RowFinding] = ()
    max_findings: int = 1000
    worst: Sequence[WorstRow] = ()
    unchecked: Sequence[Unchecked] = ()
    columns: Sequence[ColumnsFound] = ()
    source_notes: Sequence[Note] = ()
    milliseconds: int = 0
    partial: bool = False

    @property
    def findings_total(self) -> int:
        """Number of findings there are, kept or not."""
        return sum(count.findings for count in self.statistics.by_code.values())

    @property
    def seconds(self) -> float:
        """Time that the audit took."""
        return self.milliseconds / 1000

    @property
    def notes(self) -> tuple[str, ...]:
        """What else to know, printable lines."""
        return tuple(self._notes())

    @property
    def complete(self) -> bool:
        """Everything asked for was looked at, and there was something to look at."""
        return not self.partial and not self.unchecked and self.statistics.rows_checked > 0

    def over_the_bar(self, bar: Bar = _DEFAULT_BAR) -> list[str]:
        """List what is over the bar, one printable phrase per reason; empty if nothing is."""
        return bar.reasons(self.statistics)

    def passes(self, bar: Bar = _DEFAULT_BAR) -> bool:
        """Whether everything was checked and nothing is over the bar."""
        return not self.over_the_bar(bar) and self.complete

    def merge(self, *others: Report) -> Report:
        """Add up reports of parts of a dataset, audited with one tokenizer.

        In whatever order and grouping parts are merged, the result is the same. What only a look at all rows at once
        can tell is not found again: an id that two parts have is no duplicate.

        Raises:
            ReportError: The reports are about different tokenizers.
        """
        reports = (self, *others)
        for other in others:
            if not isinstance(other, Report):
                raise TypeError(f"{shown(other)} where a report is needed")
            if other.tokenizer.identity != self.tokenizer.identity:
                raise ReportError(
                    f"reports of different tokenizers cannot be added up: {_named(self.tokenizer)} and "
                    f"{_named(other.tokenizer)}"
                )
        statistics = Statistics()
        for report in reports:
            statistics.merge(report.statistics)
        most = min(report.max_findings for report in reports)
        return Report(
            tokenizer=min((report.tokenizer for report in reports), key=TokenizerInfo.order),
            statistics=statistics,
            findings=tuple(Kept(most, (found for report in reports for found in report.findings))),
            max_findings=most,
            worst=worst_of(row for report in reports for row in report.worst),
            unchecked=tuple(sorted((each for report in reports for each in report.unchecked), key=_unchecked_order)),
            columns=tuple(_added_columns(found for report in reports for found in report.columns)),
            source_notes=tuple(_added_notes(note for report in reports for note in report.source_notes)),
            milliseconds=sum(report.milliseconds for report in reports),
            partial=any(report.partial for report in reports),
        )

    def as_metrics(self, prefix: str = "tito/") -> dict[str, float]:
        """Return the rates that a training run logs, as a flat dict with stable names.

        Row rates are over the rows checked, token rates over the trainable tokens (over all tokens where no row has a
        mask), ``realised_row_rate`` over the rows that say what was trained. A rate over nothing is left out, not NaN.

        Args:
            prefix: Put in front of every name.
        """
        metrics = self.statistics.as_metrics() | {"check_ms": self.milliseconds}
        return {f"{prefix}{name}": value for name, value in metrics.items()}

    def as_dict(self, bar: Bar = _DEFAULT_BAR) -> dict[str, Any]:
        """Return the report as built-in types, in the shape of the published schema (`tito_audit.schema`)."""
        statistics = asdict(self.statistics)
        statistics["by_code"] = {
            code: {
                "name": rule(code).name,
                "severity": rule(code).severity,
                "rows": count.rows,
                "findings": count.findings,
                "tokens": count.tokens,
                "accepted_rows": count.accepted_rows,
                "first": dict(zip(("source", "row"), count.first or (None, None), strict=True)),
            }
            for code, count in sorted(self.statistics.by_code.items())
        }
        for name in ("rows_by_engine", "realised_by_kind"):
            statistics[name] = dict(sorted(statistics[name].items()))
        statistics["by_turn"] = [
            {"turn": turn, **asdict(count)} for turn, count in sorted(self.statistics.by_turn.items())
        ]
        return {
            "format": KIND.format,
            "format_version": KIND.version,
            "version": _core.__version__,
            "tokenizers_version": _core.TOKENIZERS_VERSION,
            "success": self.passes(bar),
            "fail_on": bar.fail_on,
            "over_the_bar": self.over_the_bar(bar),
            "partial": self.partial,
            "tokenizer": self.tokenizer._asdict() | {"changed": list(self.tokenizer.changed)},
            "columns": [found._asdict() for found in self.columns],
            "notes": list(self.notes),
            "source_notes": [note._asdict() for note in self.source_notes],
            "unchecked": [unchecked._asdict() for unchecked in self.unchecked],
            "statistics": statistics,
            "worst": [row._asdict() | {"codes": list(row.codes)} for row in self.worst],
            "findings": [finding.as_dict() for finding in self.findings],
            "findings_total": self.findings_total,
            "max_findings": self.max_findings,
            "timing": {"seconds": self.seconds},
        }

    def to_json(self, bar: Bar = _DEFAULT_BAR) -> str:
        """Write the report as JSON, pure ASCII: no text of a rollout reaches a terminal unescaped.

        The same input gives the same report, but for ``timing`` and ``statistics.rechecked``, which depends on it.
        """
        return json.dumps(self.as_dict(bar), indent=2)

    @classmethod
    def from_json(cls, text: str | bytes, *, source: str = "report") -> Report:
        """Read a report that `to_json` wrote.

        Args:
            text: The JSON.
            source: Name for messages.

        Raises:
            ReportError: It is no report, or one of a later format.
        """
        return cls._of_stored(decoded(text, KIND, source=source), source)

    @classmethod
    def _of_stored(cls, data: dict[str, Any], source: str) -> Report:
        from tito_audit.schema import ReportDict  # noqa: PLC0415 - it brings msgspec

        checked = shaped(data, ReportDict, KIND, source=source)
        codes = {found["code"] for found in checked["findings"]} | checked["statistics"]["by_code"].keys()
        codes |= {code for row in checked["worst"] for code in row["codes"]}
        if codes - RULES.keys():
            raise ReportError(
                f"{inert(source)}: a report of a later version (it has {inert(min(codes - RULES.keys()))})"
            )
        return cls._from_dict(data)

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> Report:
        counts = dict(data["statistics"])
        by_code = {
            code: CodeCount(
                rows=count["rows"],
                findings=count["findings"],
                tokens=count["tokens"],
                accepted_rows=count["accepted_rows"],
                first=None if None in count["first"].values() else (count["first"]["source"], count["first"]["row"]),
            )
            for code, count in counts.pop("by_code").items()
        }
        by_turn = {count.pop("turn"): TurnCount(**count) for count in map(dict, counts.pop("by_turn"))}
        tokenizer = data["tokenizer"]
        return cls(
            tokenizer=TokenizerInfo(**tokenizer | {"changed": tuple(tokenizer["changed"])}),
            statistics=Statistics(**counts, by_code=by_code, by_turn=by_turn),
            findings=tuple(map(RowFinding.from_dict, data["findings"])),
            max_findings=data["max_findings"],
            worst=tuple(WorstRow(**row | {"codes": tuple(row["codes"])}) for row in data["worst"]),
            unchecked=tuple(Unchecked(**each) for each in data["unchecked"]),
            columns=tuple(ColumnsFound(**each) for each in data["columns"]),
            source_notes=tuple(Note(**each) for each in data["source_notes"]),
            milliseconds=round(data["timing"]["seconds"] * 1000),
            partial=data["partial"],
        )

    def save(self, path: str | os.PathLike[str], bar: Bar = _DEFAULT_BAR) -> None:
        """Write the JSON report to a file, whole or not at all.

        Raises:
            OSError: It cannot be written.
        """
        write_whole(Path(path), self.to_json(bar) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """Read a report that `save`, or the command, wrote.

        Raises:
            ReportError: It cannot be read, or is no report.
        """
        return cls._of_stored(read_stored(path, KIND), os.fsdecode(path))

    def __str__(self) -> str:
        """Write the text report."""
        from tito_audit.rendering.terminal import text_report  # noqa: PLC0415 - only people need it

        return text_report(self)

    def __repr__(self) -> str:
        """Count rows, drift and findings."""
        s = self.statistics
        return (
            f"<Report {s.rows_checked:,} of {counted(s.rows, 'row')} checked, {s.drift_rows:,} drift, "
            f"{counted(self.findings_total, 'finding')}>"
        )

    def _notes(self) -> Iterator[str]:
        s = self.statistics
        checked = counted(s.rows_checked, "row")
        doubt = tokenizer_doubt(s)
        if doubt is not None:
            yield doubt
        if s.rows_from_mask:
            yield "turns: from mask (each run of mask 1 is a turn)"
        if s.rows_without_mask:
            yield (
                f"no mask in {s.rows_without_mask:,} of {checked}: who owns which token is "
                "unknown there, so no token can straddle and no trainable token is counted"
            )
        if s.rows_unplaced:
            yield (
                f"{s.rows_unplaced:,} of {checked} {'has' if s.rows_unplaced == 1 else 'have'} re-encoded tokens that "
                "cannot be placed: no straddling is computed there"
            )
        if s.rows_without_context:
            yield (
                f"context unknown in {s.rows_without_context:,} of {checked} (responses without "
                "their prompt): a drift span at their first token is counted apart"
            )
        if s.rows_unpadded:
            yield f"padding removed from {s.rows_unpadded:,} of {checked}: positions count from the first real token"
        for change in self.tokenizer.changed:
            yield f"tokenizer: {change} was switched off for the audit"
        yield from map(str, self.source_notes)


def worst_of(rows: Iterable[WorstRow]) -> tuple[WorstRow, ...]:
    """Keep the worst of some rows, worst first."""
    return tuple(sorted(rows, key=WorstRow.order)[:MOST_WORST])


def _added_columns(all_found: Iterable[ColumnsFound]) -> list[ColumnsFound]:
    added: dict[tuple[tuple[str, str], ...], ColumnsFound] = {}
    for found in all_found:
        key = tuple(sorted(found.columns.items()))
        known = added.get(key, found._replace(sources=0))
        added[key] = ColumnsFound(found.columns, known.sources + found.sources, min(known.first, found.first))
    return [added[key] for key in sorted(added)]


def _added_notes(notes: Iterable[Note]) -> list[Note]:
    added: dict[str, Note] = {}
    for note in notes:
        known = added.get(note.text, note._replace(sources=0))
        added[note.text] = Note(note.text, known.sources + note.sources, min(known.first, note.first))
    return [added[text] for text in sorted(added)]


def _unchecked_order(unchecked: Unchecked) -> tuple[str, str]:
    return unchecked.source, unchecked.message


def _named(tokenizer: TokenizerInfo) -> str:
    return f"{inert(tokenizer.source)} (sha256 {tokenizer.sha256[:8]})"
