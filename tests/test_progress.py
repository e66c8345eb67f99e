import io
import sys

import pytest

from tito_audit import progress
from tito_audit.audit import Progress
from tito_audit.progress import shown_progress


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress(200) as show:
        show(Progress(1, 2, 3))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)
    with shown_progress(200) as show:
        show(Progress(1000, 20_000, 50))
    assert capsys.readouterr().err == "checked 1,000 rows, 20,000 tokens (25%)\n"
    with shown_progress(0) as show:
        show(Progress(1, 2, 50))
    assert capsys.readouterr().err == "checked 1 row, 2 tokens\n"


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress(200) as show:
        show(Progress(1000, 20_000, 100))
    assert "1,000 rows, 20,000 tokens" in terminal.getvalue()
