"""Rows, group by group, to counts, kept findings and the rows that drift most. Everything here can be added up."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tito_audit import _core
from tito_audit.auditing.baseline import Baseline
from tito_audit.auditing.batch_counts import (
    DriftRows,
    add_batch,
    add_trained,
    drift_rows,
    occurrences,
    trained_occurrences,
)
from tito_audit.auditing.counts import CodeCount, Statistics
from tito_audit.auditing.groups import Trained, check_rows, check_trained
from tito_audit.auditing.kept import Kept
from tito_audit.auditing.outcomes import Judged, Outcome, Sink
from tito_audit.auditing.placing import placed
from tito_audit.auditing.row_findings import RowFinding, WorstRow
from tito_audit.auditing.seen_ids import SeenIds
from tito_audit.auditing.selection import Selection
from tito_audit.batch import Batch
from tito_audit.findings import Finding
from tito_audit.printable import WIDTH, counted, inert
from tito_audit.reading.record_checks import record_findings
from tito_audit.reading.row import Fault, Row
from tito_audit.realised import KINDS, RealisedBatch, realised_findings
from tito_audit.recheck import LEAST, SHARE, Guard, Recheck, key_of, lots_of
from tito_audit.report import MOST_WORST, Unchecked, worst_of
from tito_audit.results import ENGINES, Check, RowContext
from tito_audit.signal.findings import Scored, signal_findings
from tito_audit.tokenizer import Tokenizer

_ABOUT_TOKENS = {"TITO601", "TITO604"}
"""Codes of findings whose positions are the tokens concerned, all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyOptions:
    """How rows are judged and what is kept of it.

    Attributes:
        model_vocab_size: Rows of the model's embedding.
        skip_special_tokens: Also measure a pipeline that decodes so.
        clean_up_tokenization_spaces: Likewise.
        max_findings: Findings to keep.
        selection: Codes to report.
        baseline: Rewrites that are known.
        collected: Takes up every rewrite that is found.
        redact: Keep ids and lengths only, no text of a rollout.
        threads: Size of the pool.
        seed: Seed of the draw of rows that are judged again.
        width: Terminal cells to draw places in.
    """

    model_vocab_size: int | None = None
    skip_special_tokens: bool = False
    clean_up_tokenization_spaces: bool = False
    max_findings: int = 1000
    selection: Selection = field(default_factory=Selection)
    baseline: Baseline | None = None
    collected: Baseline | None = None
    redact: bool = False
    threads: int = 1
    seed: int = 0
    width: int = WIDTH


class _Codes:
    """Codes found in each row of a group."""

    def __init__(self) -> None:
        self.all: defaultdict[int, set[str]] = defaultdict(set)
        self.open: defaultdict[int, set[str]] = defaultdict(set)

    def add(self, place: int, code: str, *, accepted: bool = False) -> None:
        self.all[place].add(code)
        if not accepted:
            self.open[place].add(code)


@dataclass(frozen=True, slots=True)
class _Group:
    """The verdicts on the readable rows of a group.

    Attributes:
        rows: These rows.
        places: Their places among all rows of the group.
        batch: The verdicts.
        turns: Turn of each token, -1 outside; None where nobody knows.
        accepted: Per drift span: it is ignored, or in the baseline.
        drift: The drift that counts.
        trained: What was trained, where rows say so.
    """

    rows: Sequence[Row]
    places: Sequence[int]
    batch: Batch
    turns: NDArray[np.int32] | None
    accepted: NDArray[np.bool_]
    drift: DriftRows
    trained: Sequence[Trained]

    def scored(self) -> list[Scored | None]:
        """What the trainer did with each row; None where nobody says, or can say."""
        found: list[Scored | None] = [None] * len(self.rows)
        for trained in self.trained:
            for place, index in enumerate(trained.indices.tolist()):
                found[index] = trained.scored(place)
        return found

    def turns_of(self, index: int) -> NDArray[np.int32] | None:
        """Turn per token of one row."""
        start, stop = self.batch.offsets[index : index + 2]
        return None if self.turns is None else self.turns[start:stop]

    def first_place(self, indices: NDArray[np.int64]) -> tuple[str, int]:
        """First of some rows, by source and number; within a source they come in order."""
        if self.rows[0].source == self.rows[-1].source:
            return self.rows[int(indices[0])].place
        return min(self.rows[int(index)].place for index in indices)


class Tally:
    """What was found so far.

    Attributes:
        statistics: The counts.
        kept: The findings.
        worst: Rows that drift most, worst first.
        seen_ids: Names that rows gave themselves.
        mismatches: The first row of each group on which the fast engine and the reference disagree: not everything that
            was asked for was checked. As the reference judges from then on, there is one at most.
    """

    def __init__(self, tok: Tokenizer, options: TallyOptions) -> None:
        """Begin with nothing.

        Args:
            tok: The tokenizer.
            options: How rows are judged and what is kept of it.
        """
        self.statistics = Statistics()
        self.kept = Kept(options.max_findings)
        self.worst: tuple[WorstRow, ...] = ()
        self.seen_ids = SeenIds()
        self.mismatches: list[Unchecked] = []
        self._recheck, self._since = Recheck(least=LEAST), time.perf_counter()
        self._keys: dict[str, int] = {}
        self._tok = tok
        self._options = options
        self._takes = options.selection.takes
        self._ignored = np.array([not self._takes(code) for code in _core.CAUSES], dtype=np.bool_)

    def add_about_dataset(self, finding: Finding) -> None:
        """Count and keep a finding that is about no row."""
        if self._takes(finding.code):
            self.statistics.count(finding.code, CodeCount(findings=1))
            self.kept.add(RowFinding(finding=finding))

    def add(self, rows: Sequence[Row], sinks: Sequence[Sink] = ()) -> None:
        """Judge a group of rows of one layout, the skipped ones included, take up what is found, and tell the sinks."""
        noted = [[*row.faults, *(Fault(None, finding) for finding in row.findings)] for row in rows]
        self._note_duplicates(rows, noted)
        places = [place for place, row in enumerate(rows) if row.ids is not None]
        for place in places:
            noted[place] += [Fault(None, finding) for finding in record_findings(rows[place], self._tok)]
        group = self._judged([rows[place] for place in places], places) if places else None
        codes = _Codes()
        self.statistics.add_skipped(len(rows) - len(places))
        if group is not None:
            for index, scored in enumerate(group.scored()):
                found = signal_findings(group.rows[index], self._tok, scored)
                noted[places[index]] += [Fault(None, finding) for finding in found]
            for index, message in group.batch.errors.items():
                noted[places[index]].append(Fault(None, Finding(code="TITO001", message=inert(message))))
            self._add_batch(group, codes)
            self._add_trained(group, codes)
        index_of = {place: index for index, place in enumerate(places)}
        for place, of_row in enumerate(noted):
            if of_row:
                turns = None if group is None or place not in index_of else group.turns_of(index_of[place])
                self._add_noted(rows[place], place, of_row, turns, codes)
        if group is not None:
            self._add_worst(group, codes)
        if sinks:
            judged = list(self._outcomes(rows, group, codes))
            for sink in sinks:
                sink.take(judged)

    def _note_duplicates(self, rows: Sequence[Row], noted: Sequence[list[Fault]]) -> None:
        named = [place for place, row in enumerate(rows) if row.id is not None]
        for place, known in zip(named, self.seen_ids.add([rows[place].id for place in named]), strict=True):
            if known:
                message = f"the id {inert(str(rows[place].shown_id))} was seen before"
                noted[place].append(Fault(None, Finding(code="TITO019", message=message)))

    def _judged(self, rows: Sequence[Row], places: Sequence[int]) -> _Group:
        options = self._options
        verdicts = check_rows(
            rows,
            self._tok,
            threads=options.threads,
            skip_special_tokens=options.skip_special_tokens,
            clean_up_tokenization_spaces=options.clean_up_tokenization_spaces,
            guard=self._guard(rows),
        )
        batch = verdicts.batch
        self._since = time.perf_counter()
        for index, mismatch in list(batch.mismatches.items())[:1]:
            row, before = rows[index], self.statistics.rows_by_engine.get("fast", 0)
            self.mismatches.append(
                Unchecked(
                    row.source,
                    "TITO010",
                    f"{inert(row.source)}:{row.number}: the fast engine and the reference disagree ({mismatch}); from "
                    f"there on the reference judged, but what the fast engine said of {counted(before, 'row')} before "
                    "may be wrong. Audit with --engine reference (in Python: load_tokenizer(..., engine='reference')), "
                    "and please report it with the tokenizer and the ids of that row",
                )
            )
        accepted: NDArray[np.bool_] = self._ignored[batch.columns["span_cause"]]
        if options.baseline is not None:
            accepted |= options.baseline.holds(batch)
        if options.collected is not None:
            options.collected.add(batch)
        drift = drift_rows(batch, accepted, self._ignored)
        trained = check_trained(rows, self._tok, threads=options.threads)
        return _Group(rows, places, batch, verdicts.turns, accepted, drift, trained)

    def _guard(self, rows: Sequence[Row]) -> Guard:
        """Watch over the fast engine: what reading and counting took since the last group earns time too."""

        def lots(places: NDArray[np.int64]) -> NDArray[np.uint64]:
            chosen = [rows[place] for place in places.tolist()]
            keys = np.array([self._key(row.source) for row in chosen], dtype=np.uint64)
            return lots_of(np.array([row.number for row in chosen], dtype=np.int64), keys)

        return Guard(self._recheck, lots, SHARE, self._since)

    def _key(self, source: str) -> int:
        if source not in self._keys:
            self._keys = {source: key_of(source, self._options.seed)}  # rows of one source come together
        return self._keys[source]

    def _add_batch(self, group: _Group, codes: _Codes) -> None:
        """Count the verdicts, and make findings only of rows that have one to keep."""
        batch, statistics = group.batch, self.statistics
        add_batch(statistics, batch, group.turns, group.drift)
        for index, row in enumerate(group.rows):
            if group.drift.checked[index]:
                statistics.rows_without_context += row.context_unknown
                statistics.rows_from_mask += row.turns is None and group.turns is not None
                statistics.rows_unpadded += row.padding > 0
        wanted: set[int] = set()
        for code, where in occurrences(batch, group.accepted).items():
            if not self._takes(code):
                continue
            first = group.first_place(where.rows)
            statistics.count(
                code,
                CodeCount(
                    rows=len(where.rows),
                    findings=int(where.findings.sum()),
                    tokens=where.tokens,
                    accepted_rows=int(where.accepted.sum()),
                    first=first,
                ),
            )
            room = self.kept.room(code, first)
            shown = np.flatnonzero(~where.accepted)
            enough = int(np.searchsorted(np.cumsum(where.findings[shown]), room)) + 1 if room else 0
            wanted.update(where.rows[shown[:enough]].tolist())
            for index, accepted in zip(where.rows.tolist(), where.accepted.tolist(), strict=True):
                codes.add(group.places[index], code, accepted=accepted)
        first_span = np.concatenate([[0], np.cumsum(batch.n_spans)])
        for index in sorted(wanted):
            check = self._check(group, index)
            spans = range(int(first_span[index]), int(first_span[index + 1]))
            known = {
                (span.code, span.token_start, span.token_stop)
                for span, place in zip(check.spans, spans, strict=True)
                if group.accepted[place]
            }
            for finding in check.findings:
                if (finding.code, finding.token_start, finding.token_stop) not in known:
                    self._keep(finding, group.rows[index], check=check, turns=group.turns_of(index))

    def _add_trained(self, group: _Group, codes: _Codes) -> None:
        """Count what was trained, and make findings only of rows that have one to keep."""
        for trained in group.trained:
            add_trained(self.statistics, trained.batch)
            for code, where in trained_occurrences(trained.batch).items():
                if not self._takes(code):
                    continue
                indices = trained.indices[where.rows]
                first = group.first_place(indices)
                self.statistics.count(code, CodeCount(len(where.rows), len(where.rows), where.tokens, first=first))
                for index in indices.tolist():
                    codes.add(group.places[index], code)
                room = self.kept.room(code, first)
                for place, index in zip(where.rows[:room].tolist(), indices[:room].tolist(), strict=True):
                    if self.kept.wants(code, group.rows[index].place):
                        finding = self._about_trained(group, index, trained.batch, place, code)
                        self._keep(finding, group.rows[index], turns=group.turns_of(index))

    def _about_trained(self, group: _Group, index: int, trained: RealisedBatch, place: int, code: str) -> Finding:
        message = group.batch.errors.get(index) or trained.errors.get(place)
        if message is not None:
            return Finding(code=code, message=f"the trained ids are others, and nobody can say how: {inert(message)}")
        check = self._check(group, index)
        return next(each for each in realised_findings(check, trained.row(place)) if each.code == code)

    def _add_noted(
        self, row: Row, place: int, noted: Sequence[Fault], turns: NDArray[np.int32] | None, codes: _Codes
    ) -> None:
        for code, number in Counter(each.finding.code for each in noted).items():
            if self._takes(code):
                tokens = None
                if code in _ABOUT_TOKENS:
                    tokens = sum(len(each.finding.positions) for each in noted if each.finding.code == code)
                self.statistics.count(code, CodeCount(rows=1, findings=number, tokens=tokens, first=row.place))
                codes.add(place, code)
        for column, finding in noted:
            self._keep(finding, row, column=column, turns=turns)

    def _keep(
        self,
        finding: Finding,
        row: Row,
        *,
        column: str | None = None,
        check: Check | None = None,
        turns: NDArray[np.int32] | None = None,
    ) -> None:
        if self._takes(finding.code) and self.kept.wants(finding.code, row.place, finding.token_start):
            width = self._options.width
            self.kept.add(placed(finding, row, column=column, check=check, turns=turns, width=width))

    def _check(self, group: _Group, index: int) -> Check:
        names = group.rows[index].named_owners
        context = RowContext(names, self._options.model_vocab_size, redact=self._options.redact)
        return group.batch.row(index, context)

    def _add_worst(self, group: _Group, codes: _Codes) -> None:
        batch, drift = group.batch, group.drift
        tokens = drift.tokens.tolist()
        trainable = [None] * len(batch) if drift.trainable is None else drift.trainable.tolist()
        damage = [None] * len(batch) if drift.trainable_tokens is None else drift.trainable_tokens.tolist()
        straddling = [None] * len(batch) if batch.mask is None else batch.n_straddling.tolist()

        def order(index: int) -> tuple[int, int, str, int]:
            return -(damage[index] or 0), -tokens[index], *group.rows[index].place

        worst = nsmallest(MOST_WORST, np.flatnonzero(drift.drifts & ~drift.accepted).tolist(), key=order)
        found = [
            WorstRow(
                source=group.rows[index].source,
                row=group.rows[index].number,
                id=group.rows[index].shown_id,
                tokens=int(batch.n_tokens[index]),
                trainable_tokens=trainable[index],
                drift_tokens=tokens[index],
                drift_trainable_tokens=damage[index],
                straddling_tokens=straddling[index],
                codes=tuple(sorted(codes.all[group.places[index]])),
            )
            for index in worst
        ]
        self.worst = worst_of([*self.worst, *found])

    def _outcomes(self, rows: Sequence[Row], group: _Group | None, codes: _Codes) -> Iterator[Judged]:
        facts: dict[int, dict[str, Any]] = {}
        drifting: set[int] = set()
        if group is not None:
            facts = dict(zip(group.places, _facts(group), strict=True))
            open_drift = (group.drift.drifts & ~group.drift.accepted) | group.drift.pipeline
            drifting = set(np.array(group.places)[open_drift].tolist())
        for place, row in enumerate(rows):
            known = facts.get(place, {})
            outcome = Outcome(row.source, row.number, row.shown_id, codes=tuple(sorted(codes.all[place])), **known)
            yield Judged(row, outcome, frozenset(codes.open[place]), drifts=place in drifting)


def _facts(group: _Group) -> Iterator[dict[str, Any]]:
    """What `Outcome` says about the readable rows of a group, but for place and codes."""
    batch, drift = group.batch, group.drift
    nothing = [None] * len(batch)
    kinds: list[int | None] = [None] * len(batch)
    for trained in group.trained:
        for index, kind in zip(trained.indices.tolist(), trained.batch.kind.tolist(), strict=True):
            kinds[index] = kind
    columns = {
        "tokens": batch.n_tokens.tolist(),
        "trainable_tokens": nothing if drift.trainable is None else drift.trainable.tolist(),
        "drifted": batch.drifted.tolist(),
        "artefact": batch.artefact.tolist(),
        "silent": batch.silent.tolist(),
        "first_diff": [None if first < 0 else first for first in batch.first_diff.tolist()],
        "realised": [None if kind is None else kind > 0 for kind in kinds],
        "realised_kind": [KINDS[kind] if kind and kind < len(KINDS) else None for kind in kinds],
        "straddling_tokens": nothing if batch.mask is None else batch.n_straddling.tolist(),
        "drift_tokens": drift.tokens.tolist(),
        "drift_trainable_tokens": nothing if drift.trainable_tokens is None else drift.trainable_tokens.tolist(),
        "engine": [ENGINES[engine] for engine in batch.engine.tolist()],
    }
    for values, checked in zip(zip(*columns.values(), strict=True), drift.checked.tolist(), strict=True):
        yield dict(zip(columns, values, strict=True)) if checked else {}
