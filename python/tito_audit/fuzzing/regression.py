"""Regression tests, ready to paste: one for each thing that a search found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tito_audit.candidates.vocabulary import Window
from tito_audit.fuzzing.baseline import FuzzBaseline, News
from tito_audit.fuzzing.entries import CANNOT
from tito_audit.fuzzing.report import FuzzReport
from tito_audit.fuzzing.search import Example
from tito_audit.printable import piece

HEAD = "import tito_audit as tito"
_LINE = 100
_MOST_SHOWN = 6
"""Tokens that a comment shows."""


class Loading(NamedTuple):
    """How the tests load the tokenizer.

    Attributes:
        source: What `load_tokenizer` is given.
        options: Its options as they are written in Python.
    """

    source: str
    options: Mapping[str, object]

    def __str__(self) -> str:
        """Write the call."""
        words = [ascii(self.source), *(f"{name}={value!a}" for name, value in self.options.items())]
        return f"tito.load_tokenizer({', '.join(words)})"


def regression_tests(report: FuzzReport, loading: Loading) -> list[str]:
    """Write tests that hold what is known of a tokenizer: they fail when it changes.

    Args:
        report: What was found.
        loading: How the tests load the tokenizer.

    Returns:
        Source of each test; `HEAD` goes before the first.
    """
    return [_pinned(example, report, loading) for example in report.examples]


def news_tests(news: News, baseline: FuzzBaseline, report: FuzzReport, loading: Loading) -> list[str]:
    """Write tests that fail on the tokenizer as it is, and pass on the one of the baseline.

    Args:
        news: What is new.
        baseline: What was known.
        report: What was found.
        loading: How the tests load the tokenizer.

    Returns:
        Source of each test; `HEAD` goes before the first.
    """
    return list(_of_news(news, baseline, report, loading))


def _of_news(news: News, baseline: FuzzBaseline, report: FuzzReport, loading: Loading) -> Iterator[str]:
    whats: dict[str, list[str]] = {}
    for change in news.changes:
        whats.setdefault(change.component, []).append(change.what)
    for component, lines in whats.items():
        expected = baseline.profile.fingerprint.get(component)
        yield _test(
            f"the_{component}_is_known",
            loading,
            lines[:_MOST_SHOWN],
            [f"assert tok.fingerprint.get({component!r}) == {expected!r}"],
        )
    by_cause: dict[str, list[int]] = {}
    for entry in news.entries:
        by_cause.setdefault(entry.cause, []).append(entry.id)
    for cause, ids in by_cause.items():
        shown = ", ".join(piece(report.bytes[id_]) for id_ in ids[:_MOST_SHOWN])
        comment = shown + (", …" if len(ids) > _MOST_SHOWN else "")
        verdict = "tito.check([token_id], tok)"
        checked = verdict if cause == CANNOT else f"assert {verdict}.cause != {cause!r}, token_id"
        yield _test(f"no_new_{_name(cause)}", loading, [comment], [*_loop(ids), f"    {checked}"])
    for example in news.causes:
        yield _test(
            f"{_name(example.cause)}_does_not_come_up",
            loading,
            [_comment(example, report)],
            [f"assert tito.check({list(example.ids)}, tok).cause != {example.cause!r}"],
        )
    for token in news.ordinary:
        text = piece(token.content.encode("utf-8", "replace"))
        yield _test(
            f"added_token_{token.id}_is_no_ordinary_text",
            loading,
            [f"{_pieces(token.spelled, report)} comes back as {text}"],
            [f"assert {token.id} not in tok.added_ids"],
        )


def _pinned(example: Example, report: FuzzReport, loading: Loading) -> str:
    body = [
        f"r = tito.check({list(example.ids)}, tok)",
        f"assert (r.cause, r.reencoded_ids.tolist()) == ({example.cause!r}, {list(example.reencoded)})",
    ]
    return _test(f"{_name(example.cause)}_is_as_known", loading, [_comment(example, report)], body)


def _test(name: str, loading: Loading, comments: Sequence[str], body: Sequence[str]) -> str:
    lines = [f"def test_{name}() -> None:", *(f"    # {each}" for each in comments), f"    tok = {loading}"]
    return "\n".join([*lines, *(f"    {each}" for each in body)])


def _loop(ids: Sequence[int]) -> list[str]:
    """The head of a loop over ids, in lines of some hundred characters."""
    lines, line = [], "for token_id in ("
    for id_ in ids:
        if len(line) + len(str(id_)) > _LINE:
            lines.append(line.rstrip())
            line = "    "
        line += f"{id_}, "
    return [*lines, f"{line.rstrip()}):"]


def _comment(example: Example, report: FuzzReport) -> str:
    return f"{_pieces(example.ids, report)} comes back as {_pieces(example.reencoded, report) or 'nothing'}"


def _pieces(ids: Window, report: FuzzReport) -> str:
    shown = " ".join(piece(report.bytes.get(id_, b"")) for id_ in ids[:_MOST_SHOWN])
    return f"{shown} …" if len(ids) > _MOST_SHOWN else shown


def _name(cause: str) -> str:
    return ("text_that_cannot_be_encoded" if cause == CANNOT else cause).replace("-", "_")
