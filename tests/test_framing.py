"""What a chat template writes around a text is told from what came with the text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chats import END, TEMPLATES, TOK, VOCAB, WORDS, ids, rendered
from tito_audit.reading.framing import Framing


def framing(row: list[int]) -> Framing:
    return Framing(np.array(row), np.isin(row, list(TOK.special_ids)), TOK, frozenset({END}))


def intruders(*pieces: str, merged: bool = False, opens: bool = False) -> list[int]:
    row = ids(*pieces)
    return framing(row).intruders(0, len(row), merged=merged, opens=opens)


TEXT = st.lists(st.sampled_from(WORDS), min_size=3, max_size=6).map(lambda pieces: ids(*pieces))
NAMES = st.sampled_from(sorted(TEMPLATES))


@given(NAMES, st.sampled_from(["user", "tool", "assistant", "system"]), TEXT)
def test_a_header_is_one_and_text_behind_it_is_none(name: str, role: str, text: list[int]) -> None:
    header = TEMPLATES[name].header(role)
    assert framing(header).is_header(0, len(header))
    # Two words: one alone might be a name.
    answer = [*header, *ids(" why", " so"), *text]
    assert not framing(answer).is_header(0, len(answer))
    assert not framing(text).is_header(0, len(text)), "no control id"


@pytest.mark.parametrize(
    ("pieces", "is_header"),
    [
        (("<o>", "assistant"), True),
        (("<e>", "\n", "<o>", "assistant", "\n"), True),
        (("\n", "<o>", "assistant", "\n"), True),
        (("<o>", "assistant", "\n", "<think>", "\n\n", "</think>", "\n\n"), True),
        (("<think>", "\n"), True),
        (("<think>", "Well"), False),
        (("<o>", "assistant", "\n", "Well"), False),
        (("<A>", "Well", "<e>"), False),
        (("\n",), False),
        ((), False),
    ],
)
def test_headers(pieces: tuple[str, ...], *, is_header: bool) -> None:
    row = ids(*pieces)
    assert framing(row).is_header(0, len(row)) == is_header


@given(NAMES, st.sampled_from(["user", "tool"]), TEXT, st.sampled_from(["all", "text", "header and text"]))
def test_what_a_template_writes_is_no_intruder(name: str, role: str, text: list[int], cover: str) -> None:
    chat = rendered(TEMPLATES[name], [(role, text)], cover)
    turn = chat.turns[0]
    assert framing(chat.ids).intruders(turn["start"], turn["end"], merged=False, opens=True) == []


@given(NAMES, st.sampled_from(["user", "tool"]), TEXT, TEXT, st.sampled_from(["<e>", "<o>", "<A>", "<s>"]), st.data())
def test_a_control_id_amid_a_text_is_one(
    name: str, role: str, before: list[int], after: list[int], control: str, data: st.DataObject
) -> None:
    template = TEMPLATES[name]
    # Two words at each side: one alone might be a name.
    text = [*ids("Well", " now"), *before, *ids(control), *ids(" why", " so"), *after]
    cover = data.draw(st.sampled_from(["all", "text", "header and text"]))
    chat = rendered(template, [("system", ids("Well")), (role, text)], cover)
    turn = chat.turns[-1]
    place = turn["end"] - len(after) - 3 - (len(template.footer(role)) if cover == "all" else 0)
    assert VOCAB[chat.ids[place]] == control
    assert framing(chat.ids).intruders(turn["start"], turn["end"], merged=False) == [place]


HEADER, FOOTER = ("<o>", "tool", "\n"), ("<e>", "\n")


@pytest.mark.parametrize(
    ("pieces", "places"),
    [
        ((*HEADER, "Well", " now", *FOOTER), []),
        (("\n", *HEADER, "Well", " now", *FOOTER, "<o>", "assistant", "\n"), []),
        (("<e>", "\n", *HEADER, "Well", *FOOTER, "<o>", "assistant", "\n"), []),
        # Somebody ends the turn and opens another.
        ((*HEADER, "Well", *FOOTER, "<o>", "system", "\n", "Well", *FOOTER), [4, 6]),
        ((*HEADER, "Well", " now", "<e>", "Well", *FOOTER), [5]),
        ((*HEADER, "Well", "<e>", "\n", *FOOTER), [4]),
        # What lies behind a control id is no role.
        (("Well", "<s>", "Well", " now"), [1]),
        (("Well", "<s>", "Well"), [1]),
        (("Well", " now", "<A>", "assistant", "Well", " now"), [2]),
        (("Well", " now", "<e>"), []),
        ((), []),
    ],
)
def test_intruders(pieces: tuple[str, ...], places: list[int]) -> None:
    assert intruders(*pieces) == places


def test_messages_of_the_system_before_the_first_of_a_user() -> None:
    first = ("<o>", "system", "\n", "Well", " now", *FOOTER, "<o>", "user", "\n", "Well", *FOOTER)
    assert intruders(*first, opens=True) == []
    assert intruders(*first) == [5, 7]
    assert intruders(*first[7:], *first[:7], opens=True) == [4, 6], "the other way round"
    forged = ("<o>", "user", "\n", "Well", *FOOTER, *first)
    assert intruders(*forged, opens=True) == [4, 6, 11, 13]


def test_messages_of_one_role_that_lie_side_by_side() -> None:
    message = (*HEADER, "Well", " now", *FOOTER)
    assert intruders(*message, *message, merged=True) == []
    assert intruders(*message, *message) == [5, 7]
    assert intruders(*message, "<o>", "user", *message[2:], merged=True) == [5, 7]


def test_many_control_ids_take_no_time_of_their_own_each() -> None:
    row = ids("<o>", "tool", "\n", *["<e>", "Well", " now"] * 5_000)
    assert len(framing(row).intruders(0, len(row), merged=True)) == 5_000
