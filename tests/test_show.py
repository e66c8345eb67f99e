import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import synthetic
import tito_audit as tito
from synthetic import END, ids, judged, rollouts, trained, turns
from tiny import byte_level, sentence_piece
from tito_audit.findings import Finding
from tito_audit.printable import cells
from tito_audit.reading.columns import Columns
from tito_audit.rendering.show import shown
from tito_audit.rendering.style import COLOUR

ANSI = re.compile(r"\x1b\[[0-9;]*m")
PLACE = ("rollouts/step 12.jsonl", 17)
BAD = Finding(code="TITO016", message="mask: -100 is neither 0/1, bool nor a weight")


def told(check: tito.Check | None, **options: Any) -> str:
    return shown(check, **{"place": PLACE, "id": "row-17"} | options)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_rollouts(width: int, snapshot: SnapshotAssertion) -> None:
    for check in rollouts():
        assert told(check, turns=turns(check), width=width) == snapshot


def test_a_rollout_in_colour(snapshot: SnapshotAssertion) -> None:
    check = rollouts()[0]
    assert told(check, turns=turns(check), style=COLOUR).replace("\x1b", "␛") == snapshot


def test_a_redacted_rollout(snapshot: SnapshotAssertion) -> None:
    check = rollouts(redact=True)[0]
    assert told(check, turns=turns(check), width=80) == snapshot


def test_it_begins_with_the_place() -> None:
    columns = Columns(ids="token_ids", mask="mask")
    text = told(rollouts()[3], columns=columns, notes=["turns: from mask"])
    assert text.split("\n\n")[0].split("\n") == [
        "rollouts/step 12.jsonl:17  id row-17",
        "columns found: token_ids, mask",
        "note: turns: from mask",
    ]


def test_a_row_that_cannot_be_read_shows_its_faults() -> None:
    text = told(None, faults=[BAD])
    assert "TITO016 mask-value: mask: -100 is neither" in text
    assert "help: Say what the value means" in text
    assert "tito-audit explain TITO016" in text
    assert told(None).endswith("the row cannot be read")


def test_faults_of_a_row_that_was_read_are_shown_too() -> None:
    logprob = Finding(code="TITO017", message="logprobs: nan at position 42 is no log-probability")
    text = told(rollouts()[0], faults=[logprob])
    assert "TITO017 logprob-value: logprobs: nan" in text
    assert "help: Record the sampler's own logprob" in text, "the gravest is what to do something about"


def test_every_cause_is_named_once_and_what_is_not_drawn_is_counted() -> None:
    check = tito.check([*b"\xffa" * 9, 99, 300], byte_level())
    text = told(check, most_spans=4)
    assert text.count("TITO201 invalid-utf8: ") == 1
    assert text.count("  sampled ") == 4
    assert "  and 5 more spans of this cause" in text
    assert "TITO005 unknown-id: outside" in text


def test_one_span_of_each_cause_is_drawn_before_the_rest() -> None:
    check = tito.check([4, 2, 4, 2, 1, 1], sentence_piece())
    assert len(check.causes) > 1
    text = told(check, most_spans=len(check.causes))
    assert all(f" {cause}: " in text for cause in check.causes)
    assert text.count("  sampled ") == len(check.causes)


SAMPLED = ids("d", "1", "2", "e", "a", "b", "f")
TRAINED = ids("d", "12", "e", "a", "b", "f")
REALISED = {
    "retokenized": (TRAINED, [0, 1, 0, 1, 1, 1]),
    "rewritten": (ids("d", "c", "e", "ab", "f"), None),
    "truncated": (SAMPLED[:4], [0, 1, 0, 1]),
    "mask": (SAMPLED, [0, 0, 0, 1, 0, 1, 1]),
    "identical": (SAMPLED, [0, 1, 0, 1, 1, 1, 1]),
}


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("kind", REALISED)
def test_what_was_trained_stands_below_what_was_sampled(kind: str, width: int, snapshot: SnapshotAssertion) -> None:
    train_ids, train_mask = REALISED[kind]
    check = trained(SAMPLED, train_ids, mask=[0, 1, 0, 1, 1, 1, 1], train_mask=train_mask)
    assert check.realised_kind == (kind if kind in {"retokenized", "rewritten", "truncated"} else None)
    assert told(check, turns=turns(check), width=width) == snapshot


def test_many_places_of_realised_drift_are_counted() -> None:
    text = told(trained(ids("12", "d", "12"), ids("1", "2", "d", "1", "2")), most_spans=1)
    assert text.count("  trained  ") == 1
    assert "  and 1 more place" in text


def test_places_of_a_plain_re_encode_are_drawn_once() -> None:
    text = told(trained(ids("1", "2", "d", "1", "2"), ids("12", "d", "12")))
    assert "the trained ids are those that the text encodes to" in text
    assert text.count("  re-encoded  ") == 2
    assert "  trained  " not in text


def test_straddling_tokens_are_listed() -> None:
    check = judged(ids("1", "2", "1", "2"), mask=[0, 1, 0, 1])
    text = told(check, turns=turns(check))
    assert text.count("TITO301 straddling-token: ") == 1
    assert '  --> tokens 0..2: "12" covers 1 byte of mask 0' in text
    assert "4 tokens in 2 drift spans (2 trainable), 2 straddling" in text


def test_the_strip_shows_the_whole_row() -> None:
    row = [*ids("d") * 500, *ids("a", "b"), *ids("d") * 498]
    text = told(judged(row, mask=[0] * 500 + [1] * 500), width=64)
    scale, mask, drift, legend = [line for line in text.split("\n") if line.startswith("  ") and "->" not in line][2:6]
    assert scale == f"  tokens      0{'1000':>49}"
    assert mask == f"  mask        {'0' * 25}{'1' * 25}"
    assert drift == f"  drift       {'·' * 25}^{'·' * 24}"
    assert legend.strip() == "^ drift, up to 20 tokens a column"


def test_turns_are_a_table() -> None:
    check = judged(ids("d", "a", "b", "d", "a", "b", "d"), mask=[0, 1, 1, 0, 1, 1, 1])
    lines = told(check, turns=turns(check)).split("\n")
    at = next(place for place, line in enumerate(lines) if line.split()[:1] == ["turn"])
    assert [line.split() for line in lines[at + 1 : at + 3]] == [
        ["0", "1..3", "2", "2", "2", "1"],
        ["1", "4..7", "3", "3", "2", "1"],
    ]
    many = judged(ids("d") * 60, mask=[0, 1] * 30)
    assert "  and 6 more turns" in told(many, turns=turns(many))


def test_an_artefact_is_no_drift() -> None:
    text = told(tito.check([4, 2], sentence_piece(), mask=[0, 1]))
    assert "artefact, no drift" in text
    assert "0 tokens in 0 drift spans (0 trainable)" in text


def test_an_empty_row() -> None:
    assert "TITO018 empty-row: the row has no tokens" in told(judged([]))


HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202e\u2066\u009b31m\r\b\u2028שלום\ud800"
WORDS = st.text(max_size=90) | st.just(HOSTILE)


@given(st.lists(st.integers(0, END + 1), max_size=40), st.integers(60, 130), st.data())
def test_every_line_fits_and_is_harmless(row: list[int], width: int, data: st.DataObject) -> None:
    per_token = st.lists(st.integers(0, 2), min_size=len(row), max_size=len(row))
    owners = data.draw(st.none() | per_token)
    check = trained(
        row,
        data.draw(st.just(row) | st.just(row[1:]) | st.lists(st.integers(0, END + 1), max_size=40)),
        owners=owners,
        mask=None if owners is None else [owner % 2 for owner in owners],
        owner_names=data.draw(st.none() | st.lists(WORDS, max_size=4)),
    )
    check.context = replace(check.context, redact=data.draw(st.booleans()))
    options: dict[str, Any] = {
        "place": (data.draw(WORDS), 1),
        "id": data.draw(WORDS | st.integers()),
        "notes": [data.draw(WORDS)],
        "turns": data.draw(st.none() | per_token.map(lambda each: np.array(each, np.int32) - 1)),
        "faults": [Finding(code="TITO001", message=data.draw(WORDS))],
        "width": width,
        "most_spans": data.draw(st.integers(0, 5)),
    }
    text = shown(check, **options)
    for line in text.split("\n"):
        assert cells(line) <= width
        assert line.isprintable()
    assert ANSI.sub("", shown(check, **options, style=COLOUR)) == text


SECRET = st.text(st.sampled_from("abcdef日本語"), min_size=9, max_size=20)


@given(SECRET, st.lists(st.integers(0, END)), st.lists(st.integers(0, END)), st.data())
def test_a_secret_of_a_redacted_row_is_nowhere(
    secret: str, before: list[int], after: list[int], data: st.DataObject
) -> None:
    row = [*before, *ids(*secret), *after]
    owners = data.draw(st.lists(st.integers(0, 2), min_size=len(row), max_size=len(row)))
    mask = [owner % 2 for owner in owners]
    options: dict[str, Any] = {"owners": owners, "mask": mask, "owner_names": ["prompt", "assistant", "tool"]}
    check = trained(row, data.draw(st.just(row[1:]) | st.permutations(row)), **options)
    check.context = replace(check.context, redact=True)
    made = synthetic.Made([check]).report()
    texts = [*map(str, check.findings), str(check), told(check, turns=turns(check), width=1000), str(made)]
    for text in texts:
        assert secret not in text
        for piece in re.findall(r'"[^"]*"', text):
            assert not set(piece) & set("日本語")
            assert piece == '""' or "=" in piece or " " in piece, "no piece of text, quoted or not"
    if check.drifted:
        assert '"' in told(judged(row, **options)), "which shows pieces otherwise"
