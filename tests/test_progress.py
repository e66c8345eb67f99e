import io
import re
import sys

import pytest

from tito_audit.auditing.auditor import Progress
from tito_audit.rendering import progress
from tito_audit.rendering.progress import duration, rate, shown_progress


class Clock:
    """A clock that is set by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("tito_audit.rendering.progress.time.monotonic", lambda: self.now)


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock(monkeypatch)
    with shown_progress(200) as show:
        for clock.now in (100.0, 109.9, 110.0, 119.9, 120.0):
            show(Progress(1000, 20_000, 50))
    assert capsys.readouterr().err == (
        "checked 1,000 rows, 20,000 tokens, 2 k tokens/s, 0:30 left (25%)\n"
        "checked 1,000 rows, 20,000 tokens, 1 k tokens/s, 1:00 left (25%)\n"
    )


@pytest.mark.parametrize("total", [None, 0])
def test_without_a_size_there_is_no_percentage(
    total: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock(monkeypatch)
    with shown_progress(total) as show:
        clock.now += 10
        show(Progress(1, 2, 50))
    assert capsys.readouterr().err == "checked 1 row, 2 tokens, 0 tokens/s\n"


def test_what_was_read_may_be_unknown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock(monkeypatch)
    with shown_progress(200) as show:
        clock.now += 10
        show(Progress(1, 2_000_000, None))  # type: ignore[arg-type, unused-ignore]
    assert capsys.readouterr().err == "checked 1 row, 2,000,000 tokens, 200 k tokens/s\n"


def test_a_rate_over_nothing_is_not_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Clock(monkeypatch)
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)
    with shown_progress(200) as show:
        show(Progress(1000, 20_000, 50))
    assert capsys.readouterr().err == "checked 1,000 rows, 20,000 tokens (25%)\n"


@pytest.mark.parametrize(
    ("per_second", "said"),
    [(0, "0"), (640.4, "640"), (1000, "1 k"), (999_600, "1000 k"), (1_254_000, "1.25 M"), (3.2e9, "3.2 G")],
)
def test_rates(per_second: float, said: str) -> None:
    assert rate(per_second) == said


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "0:00"), (65, "1:05"), (7207, "2:00:07")])
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("total", [200, None])
def test_a_terminal_gets_a_bar(total: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with shown_progress(total) as show:
        show(Progress(1000, 20_000, 100))
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "1,000 rows, 20,000 tokens" in said
    assert ("50%" in said) == (total is not None)


def test_a_log_has_no_carriage_returns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)
    with shown_progress(200) as show:
        show(Progress(1000, 20_000, 100))
    err = capsys.readouterr().err
    assert err.replace("\n", "").isprintable()
