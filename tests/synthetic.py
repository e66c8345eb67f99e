"""A small tokenizer whose pieces are hard to draw, rollouts of it, and reports made of them without an audit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import tito_audit as tito
from tiny import load
from tito_audit.auditing.counts import CodeCount, Statistics, TurnCount
from tito_audit.auditing.row_findings import RowFinding, WorstRow
from tito_audit.findings import Finding
from tito_audit.printable import WIDTH
from tito_audit.ragged import ReadRows
from tito_audit.reading.turns import turns_of_mask
from tito_audit.realised import compare_trained
from tito_audit.rendering.lanes import lanes
from tito_audit.report import ColumnsFound, Report, TokenizerInfo

# Characters of one, two and no cells, right-to-left ones, what joins to one picture, white space, and a control.
CHARACTERS = (
    *"abcdef12 \n\t",
    *"日本語",
    *"שלום",
    *"مرح",
    *"का",
    "é",
    "e\u0301",
    "\u0301",
    "👩",
    "\u200d",
    "👧",
    "🇩",
    "🇪",
    "👍",
    "🏽",
    "❤",
    "\ufe0f",
    "각",
    "\u1161",
    "\x1b",
    "\u202e",
    "·",
    '"',
    "\\",
    "»",
)
_MERGES = (
    *[("a", "b"), ("ab", "c"), ("1", "2"), ("\n", "\n"), (" ", " "), ("日", "本"), ("日本", "語")],
    *[("ש", "ל"), ("م", "ر"), ("क", "ा"), ("👩", "\u200d"), ("🇩", "🇪"), ("👍", "🏽"), ("❤", "\ufe0f"), ("a", "\u0301")],
)
VOCAB = list(dict.fromkeys([*CHARACTERS, *(left + right for left, right in _MERGES)]))
IDS = {piece: id_ for id_, piece in enumerate(VOCAB)}
END = len(VOCAB)
NAMES = ["prompt", "assistant", "tool"]


def tokenizer() -> tito.Tokenizer:
    return load(VOCAB, _MERGES, special=["<|end|>"])


TOK = tokenizer()


def ids(*pieces: str) -> list[int]:
    """Ids of pieces; of a piece that is none, those of its characters."""
    return [id_ for piece in pieces for id_ in ([IDS[piece]] if piece in IDS else map(IDS.__getitem__, piece))]


def judged(token_ids: Sequence[int], *, context: Mapping[str, Any] | None = None, **options: Any) -> tito.Check:
    """Check a row, and say more about it than `check` takes: fields of `RowContext`. As a record it is sound."""
    check = tito.check(token_ids, TOK, **options)
    check.context = replace(check.context, **{"findings": (), **(context or {})})
    return check


def trained(
    token_ids: Sequence[int], train_ids: Sequence[int], *, train_mask: Any = None, **options: Any
) -> tito.Check:
    """Check a row of which the trainer scored other ids."""
    sampled, scored = (
        ReadRows(np.array(each, dtype=np.int64), np.array([0, len(each)]), {}) for each in (token_ids, train_ids)
    )
    mask, other = (None if each is None else np.array(each, np.uint8) for each in (options.get("mask"), train_mask))
    batch = compare_trained(sampled, scored, TOK, mask=mask, train_mask=other)
    return judged(token_ids, context={"realised": batch.row(0)}, **options)


def rollouts(**context: Any) -> list[tito.Check]:
    """A few rollouts with every kind of piece."""
    prompt = ids("ab", " ", "日", "本", "語", "\n")
    spoken = [*ids("d", "e", "f", "a", "b", "c", " ", "1"), *ids("2", " ", "שלום", " ", "مرح")]
    pictures = ids("👩", "\u200d", "👧", "🇩", "🇪", "👍", "🏽", "❤", "\ufe0f", "का", "a", "\u0301", "각", "\u1161")
    odd = ids(" ", " ", "\t", "\n", "\n", "\x1b", "\u202e", "·", '"', "\\", "»")
    owners = [0] * len(prompt) + [1] * 8 + [2] * (len(spoken) - 8)
    owners_of_odd = [2 - place // 4 % 2 for place in range(len(odd))]
    return [
        judged(
            [*prompt, *spoken, END],
            mask=[*[owner == 1 for owner in owners], False],
            owners=[*owners, 0],
            owner_names=NAMES,
            context=context,
        ),
        judged([*prompt, *pictures], mask=[0] * len(prompt) + [1] * len(pictures), context=context),
        judged([*odd, END, 999], owners=[*owners_of_odd, 0, 0], mask=[0] * len(odd) + [1, 1], context=context),
        judged([*ids("d", "e"), END], mask=[1, 1, 1], context=context),
    ]


@dataclass
class Made:
    """What a report is made of."""

    checks: Sequence[tito.Check]
    source: str = "rollouts/step 12.jsonl"
    extra: Sequence[Finding] = ()
    width: int = WIDTH
    tokenizer: str = "tokenizers/small/tokenizer.json"
    statistics: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def report(self) -> Report:
        found = list(self._findings())
        counts: dict[str, Any] = {
            "rows": len(self.checks) + len(self.extra),
            "rows_checked": len(self.checks),
            "rows_skipped": len(self.extra),
            "rows_by_engine": {"fast": len(self.checks)},
            "rechecked": min(1, len(self.checks)),
            "tokens": sum(len(check.token_ids) for check in self.checks),
            "trainable_tokens": sum(_trained(check) for check in self.checks),
            "drift_rows": sum(check.drifted for check in self.checks),
            "drift_tokens": sum(_drift(check)[0] for check in self.checks),
            "drift_trainable_tokens": sum(_drift(check)[1] for check in self.checks),
            "straddling_tokens": sum(len(check.straddling) for check in self.checks),
            "owner_crossing_tokens": 0,
            "shared_characters": 0,
            "by_turn": {0: TurnCount(3, 2, 20, 7), 1: TurnCount(1, 1, 1234567, 3)},
        }
        statistics = Statistics(**counts | dict(self.statistics))
        for code in sorted({each.finding.code for each in found}):
            of_code = [each for each in found if each.finding.code == code]
            rows = {each.row or 0 for each in of_code}
            count = CodeCount(
                rows=len(rows),
                findings=len(of_code),
                tokens=sum(len(each.finding.sampled_ids) for each in of_code) or None,
                first=(self.source, min(rows)),
            )
            statistics.count(code, count)
        worst = [
            WorstRow(
                self.source,
                number,
                f"row-{number}",
                len(check.token_ids),
                _trained(check),
                *_drift(check),
                len(check.straddling),
                tuple(sorted({finding.code for finding in check.findings})),
            )
            for number, check in enumerate(self.checks, 1)
            if check.drifted
        ]
        whole: dict[str, Any] = {
            "tokenizer": TokenizerInfo(self.tokenizer, "0" * 64, len(VOCAB) + 1, (), "fast", None),
            "statistics": statistics,
            "findings": tuple(found),
            "worst": tuple(worst),
            "columns": (ColumnsFound({"ids": "token_ids", "mask": "mask"}, 1, self.source),),
            "milliseconds": 1234,
        }
        return Report(**whole | dict(self.more))

    def _findings(self) -> Iterator[RowFinding]:
        for number, check in enumerate(self.checks, 1):
            for finding in check.findings:
                spans = [s for s in check.spans if (s.token_start, s.token_stop) == _place(finding)]
                drawn = tuple(lanes(check, spans[0], width=self.width).split("\n")) if spans else ()
                yield RowFinding(
                    finding=finding,
                    source=self.source,
                    row=number,
                    id=f"row-{number}",
                    turn=0 if spans else None,
                    context=drawn,
                    sampled_count=len(finding.sampled_ids),
                )
        for number, finding in enumerate(self.extra, len(self.checks) + 1):
            yield RowFinding(finding=finding, source=self.source, row=number, column="token_ids")


def turns(check: tito.Check) -> Any:
    assert check.mask is not None
    return turns_of_mask(check.mask, np.array([0, len(check.mask)]))


def _place(finding: Finding) -> tuple[int | None, int | None]:
    start = finding.token_start
    return start, start + 1 if finding.code == "TITO005" and start is not None else finding.token_stop


def _trained(check: tito.Check) -> int:
    return 0 if check.mask is None else int(check.mask.sum())


def _drift(check: tito.Check) -> tuple[int, int]:
    inside = np.zeros(len(check.token_ids), np.bool_)
    for span in check.spans:
        inside[span.token_start : span.token_stop] = True
    return int(inside.sum()), 0 if check.mask is None else int((inside & (check.mask != 0)).sum())
