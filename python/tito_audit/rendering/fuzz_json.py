"""A fuzzed tokenizer, or two compared, as JSON: everything that was found, nothing left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tito_audit import _core
from tito_audit.fuzzing.baseline import News
from tito_audit.fuzzing.changes import Change
from tito_audit.fuzzing.difference import Comparison
from tito_audit.fuzzing.entries import Entry
from tito_audit.fuzzing.pretokens import PreToken
from tito_audit.fuzzing.report import FuzzReport, OrdinaryToken
from tito_audit.fuzzing.search import Example
from tito_audit.printable import piece
from tito_audit.rules.lookup import code_of
from tito_audit.tokenizer import Tokenizer


def fuzz_json(report: FuzzReport, *, news: News | None, tests: Sequence[str]) -> str:
    """Write what a search found; ``pieces`` beside ids are quoted as in text, the ids are the truth.

    Args:
        report: What was found.
        news: What of it the baseline does not have; None without a baseline.
        tests: Source of regression tests, with what they import.
    """
    searched = report.searched
    found: dict[str, Any] = {
        "format": "tito_audit/fuzz",
        "format_version": 1,
        "versions": _versions(),
        "tokenizer": {
            **_tokenizer(report.tok),
            "fingerprint": dict(report.profile.fingerprint),
            "normalizer": list(report.normalizer),
        },
        "search": {
            "seed": report.seed,
            "examples": report.budget.examples,
            "seconds": report.budget.seconds,
            "windows": searched.windows,
            "ended": searched.ended,
        },
        "causes": [_example(example, report) for example in report.examples],
        "entries_judged": report.entries_judged,
        "entries": [_entry(entry, report) for entry in report.entries],
        "ordinary_added_tokens": [_ordinary(token, report) for token in report.ordinary],
        "mismatches": list(report.mismatches),
        "news": None if news is None else _news(news, report),
        "tests": list(tests),
    }
    return json.dumps(found, indent=1)


def diff_json(comparison: Comparison, *, redact: bool) -> str:
    """Write what differs between two tokenizers.

    Args:
        comparison: What was found.
        redact: Without the text of pre-tokens, which stored rows may hold.
    """
    stored, pretokens = comparison.stored, comparison.pretokens
    found: dict[str, Any] = {
        "format": "tito_audit/fuzz-diff",
        "format_version": 1,
        "versions": _versions(),
        "old": _tokenizer(comparison.old),
        "new": _tokenizer(comparison.new),
        "changes": list(map(_change, comparison.changes)),
        "ids": [
            {
                "id": change.id,
                "old": None if change.old is None else piece(change.old),
                "new": None if change.new is None else piece(change.new),
                "old_added": change.old_added,
                "new_added": change.new_added,
            }
            for change in comparison.ids
        ],
        "no_longer_self_canonical": list(comparison.broken),
        "now_self_canonical": list(comparison.mended),
        "pretokens": {
            "compared": pretokens.compared,
            "uncut": pretokens.uncut,
            "long": pretokens.long,
            "cut": [_pretoken(each, redact=redact) for each in pretokens.cut],
            "encoded": [_pretoken(each, redact=redact) for each in pretokens.encoded],
        },
        "rollouts": None
        if stored is None
        else {
            "rows": stored.rows,
            "skipped": stored.skipped,
            "failed": stored.failed,
            "changes": [change._asdict() for change in stored.changes],
        },
        "mismatches": list(comparison.mismatches),
    }
    return json.dumps(found, indent=1)


def _versions() -> dict[str, str]:
    return {"tito_audit": _core.__version__, "tokenizers": _core.TOKENIZERS_VERSION}


def _tokenizer(tok: Tokenizer) -> dict[str, Any]:
    return {
        "source": tok.source,
        "sha256": tok.sha256,
        "model": tok.model,
        "vocab_size": tok.vocab_size,
        "engine": tok.engine,
    }


def _example(example: Example, report: FuzzReport) -> dict[str, Any]:
    return {
        "code": code_of(example.cause),
        "cause": example.cause,
        "sampled": _side(example.ids, report),
        "reencoded": _side(example.reencoded, report),
        "silent": example.silent,
        "artefact": example.is_artefact,
    }


def _entry(entry: Entry, report: FuzzReport) -> dict[str, Any]:
    return {
        "id": entry.id,
        "piece": piece(entry.data),
        "bytes": entry.data.hex(),
        "cause": entry.cause,
        "reencoded": _side(entry.reencoded, report),
        "artefact": entry.is_artefact,
    }


def _ordinary(token: OrdinaryToken, report: FuzzReport) -> dict[str, Any]:
    return {"id": token.id, "content": token.content, "spelled": _side(token.spelled, report)}


def _news(news: News, report: FuzzReport) -> dict[str, Any]:
    return {
        "count": news.total,
        "changes": list(map(_change, news.changes)),
        "causes": [_example(example, report) for example in news.causes],
        "entries": [entry.id for entry in news.entries],
        "ordinary_added_tokens": [token.id for token in news.ordinary],
        "gone_causes": list(news.gone_causes),
        "gone_entries": list(news.gone_entries),
        "found_later": list(news.found_later),
    }


def _change(change: Change) -> dict[str, Any]:
    return {"component": change.component, "what": change.what, "ids": list(change.ids)}


def _pretoken(each: PreToken, *, redact: bool) -> dict[str, Any]:
    def ids(of: tuple[int, ...] | None) -> list[int] | None:
        return None if of is None else list(of)

    lengths = {"old_lengths": [len(text) for text in each.old], "new_lengths": [len(text) for text in each.new]}
    texts = {} if redact else {"text": each.text, "old": list(each.old), "new": list(each.new)}
    return {**texts, **lengths, "old_ids": ids(each.old_ids), "new_ids": ids(each.new_ids)}


def _side(ids: Sequence[int], report: FuzzReport) -> dict[str, Any]:
    return {"ids": list(ids), "pieces": [piece(report.bytes.get(id_, b"")) for id_ in ids]}
