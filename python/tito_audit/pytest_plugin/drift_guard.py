"""The fixture ``drift_guard``."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from tito_audit.auditing.outcomes import Judged
from tito_audit.auditing.shown_rows import ShownRows
from tito_audit.check import check_row
from tito_audit.errors import DriftError, RecordError
from tito_audit.printable import inert
from tito_audit.pytest_plugin.watch import Watch
from tito_audit.reading.parts import Parts, to_row
from tito_audit.reading.row import Row
from tito_audit.rendering.terminal import over_the_bar_text
from tito_audit.results import Check
from tito_audit.tokenizer import Tokenizer, engine_of


class DriftGuard:
    """The fixture ``drift_guard``: shown rollouts, it fails the test that they belong to.

    Both methods take a rollout as `tito_audit.check` does, count it for the totals and the report, and return the
    verdict. `check` fails at once, which is what a property of Hypothesis needs to shrink; `observe` lets the test go
    on, and what it was shown is judged together when the test ends, where a share of rows may be allowed.

    What a fixture shows when it ends is judged after the test (an error of the teardown). What is over the bar fails
    the test even if it catches the error of `check`. A record that cannot be read (`RecordError`) is counted as a
    skipped row and raised by both.
    """

    def __init__(self, tokenizer: Tokenizer, watch: Watch) -> None:
        """Watch over rollouts of one tokenizer.

        Args:
            tokenizer: What `tito_audit.load_tokenizer` returns.
            watch: What takes the rollouts up.

        Raises:
            TokenizerError: It is no loaded tokenizer.
        """
        self._tok = engine_of(tokenizer)
        self._watch = watch

    def observe(self, token_ids: object, **parts: Unpack[Parts]) -> Check:
        """Count a rollout; the test fails at its end if all that it showed is over the bar.

        Args:
            token_ids: As in `tito_audit.check`.
            parts: What else is known of it, by the keywords of `tito_audit.check` (`tito_audit.reading.parts.Parts`).

        Returns:
            The verdict.

        Raises:
            RecordError: As in `tito_audit.check`.
            TokenizerError: As in `tito_audit.check`.
            TypeError: A keyword is no part of a rollout.
        """
        __tracebackhide__ = True
        verdict, _ = self._shown(token_ids, **parts)
        return verdict

    def check(self, token_ids: object, **parts: Unpack[Parts]) -> Check:
        """Count a rollout, and fail at once if it is over the bar by itself.

        A code that ``max_rate`` allows a share of rows is judged at the end of the test, as `observe` does.

        Args:
            token_ids: As in `tito_audit.check`.
            parts: What else is known of it, by the keywords of `tito_audit.check` (`tito_audit.reading.parts.Parts`).

        Returns:
            The verdict.

        Raises:
            DriftError: The rollout is over the bar; ``result`` is the verdict.
            RecordError: As in `tito_audit.check`.
            TokenizerError: As in `tito_audit.check`.
            TypeError: A keyword is no part of a rollout.
        """
        __tracebackhide__ = True
        verdict, judged = self._shown(token_ids, **parts)
        bar = self._watch.bar
        if bar.fails_row(judged.open_codes - bar.max_rate.keys(), drifts=judged.drifts):
            alone = ShownRows(self._tok)
            alone.add(judged.row, verdict)
            allowed = dict.fromkeys(bar.max_rate, 1.0)
            raise DriftError(over_the_bar_text(alone.report(), replace(bar, max_rate=allowed)), verdict)
        return verdict

    def __repr__(self) -> str:
        """Name the tokenizer; Hypothesis prints it among the arguments of a failing example."""
        return f"<DriftGuard of {inert(self._tok.source)}>"

    def _shown(self, token_ids: object, **parts: Unpack[Parts]) -> tuple[Check, Judged]:
        __tracebackhide__ = True
        for name in parts.keys() - Parts.__annotations__.keys():
            raise TypeError(f"{name} is no part of a rollout; those are {', '.join(Parts.__annotations__)}")
        try:
            row = to_row(token_ids, **parts)
        except RecordError as error:
            skipped = Row(source="", number=1)
            skipped.note(error)
            self._watch.take(skipped, self._tok, None)
            raise error.with_traceback(None)  # noqa: B904 - the test called it wrongly: its line is what it has to see
        verdict = check_row(row, self._tok)
        return verdict, self._watch.take(row, self._tok, verdict)
