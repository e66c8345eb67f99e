import io
from typing import get_args

import pytest

from tito_audit.rendering.style import COLOUR, PLAIN, Role, wants_colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("role", get_args(Role))
def test_every_role_has_a_colour_and_the_plain_twin_has_none(role: Role) -> None:
    painted = COLOUR("text", role)
    assert painted.startswith("\x1b[")
    assert painted.endswith("text\x1b[0m")
    assert PLAIN("text", role) == "text"


def test_what_has_no_role_or_no_text_is_left_alone() -> None:
    assert COLOUR("text", None) == "text"
    assert COLOUR("", "error") == ""


@pytest.mark.parametrize(
    ("environ", "on_terminal", "in_pipe"),
    [
        ({}, True, False),
        ({"TERM": "xterm-256color"}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": "0"}, False, False),  # any text counts
        ({"NO_COLOR": ""}, True, False),  # an empty one does not
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "3", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "false"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_the_environment_decides_where_nobody_did(environ: dict[str, str], *, on_terminal: bool, in_pipe: bool) -> None:
    assert wants_colour(Terminal(), "auto", environ) is on_terminal
    assert wants_colour(io.StringIO(), "auto", environ) is in_pipe
    for stream in (Terminal(), io.StringIO()):
        assert wants_colour(stream, "always", environ)
        assert not wants_colour(stream, "never", environ)
