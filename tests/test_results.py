from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tito_audit as tito
from tiny import byte_level, straddler
from tito_audit import _core
from tito_audit.results import CAUSES, RowContext

TOK = straddler()


def test_span() -> None:
    r = tito.check([0, 2, 2, 3, 2, 2], TOK)
    first, second = r.spans
    assert first == tito.Span(
        code="TITO101",
        cause="merge",
        token_start=1,
        token_stop=3,
        reencoded_start=1,
        reencoded_stop=2,
        byte_start=1,
        byte_stop=3,
        flags=(),
    )
    assert first.length_delta == -1
    assert (second.token_start, second.reencoded_start, second.byte_start) == (4, 3, 4)
    assert r.first_diff == first.token_start


def test_causes_come_in_order_of_precedence_and_once() -> None:
    tok = byte_level()
    r = tito.check([0xC3, 0x61, 300, 0xC3, 0x61, 300], tok)
    assert r.causes == ("unknown-id", "invalid-utf8")
    assert r.cause == "unknown-id"
    assert [CAUSES.index(cause) for cause in r.causes] == sorted(CAUSES.index(cause) for cause in r.causes)
    assert r.invalid_utf8


def test_names_of_causes_match_the_codes_of_the_core() -> None:
    assert len(CAUSES) == len(_core.CAUSES) == len(set(CAUSES))


def test_straddling_counts_bytes_per_owner() -> None:
    r = tito.check([2, 2], TOK, mask=[1, 0], owners=[7, 3])
    [token] = r.straddling
    assert token == tito.Straddling(
        reencoded_index=0, id=4, byte_start=0, byte_stop=2, mask_per_byte=(1, 0), bytes_per_owner={3: 1, 7: 1}
    )
    assert token.owners == [3, 7]


def test_owner_crossing_is_no_straddling() -> None:
    r = tito.check([2, 2], TOK, mask=[1, 1], owners=[0, 1])
    assert (r.owner_crossing, r.straddling) == (1, ())


def test_shared_byte_of_two_owners() -> None:
    """One U+FFFD stands for bytes that two tokens of different mask values produced together."""
    r = tito.check([0xE2, 0x98, 0x61], byte_level(), mask=[0, 1, 1])
    assert r.text == "\ufffda"
    assert r.shared_characters == 1
    assert {each for token in r.straddling for each in token.mask_per_byte} == {-1}
    assert all(token.owners == [] and -1 in token.bytes_per_owner for token in r.straddling)


def test_values_are_plain_python() -> None:
    r = tito.check([0, 2, 2, 99], TOK, mask=[0, 0, 1, 1], skip_special_tokens=True)
    for value in (r.drifted, r.artefact, r.silent, r.located, r.invalid_utf8):
        assert type(value) is bool
    for number in (r.first_diff, r.owner_crossing, r.shared_characters, *r.unknown_positions, *r.spans[0][2:8]):
        assert type(number) is int
    [token] = r.straddling
    assert {type(each) for each in (*token[:4], *token.mask_per_byte)} == {int}
    assert {type(each) for pair in token.bytes_per_owner.items() for each in pair} == {int}


def test_arrays_have_the_documented_types() -> None:
    r = tito.check([0, 2, 2], TOK, mask=[0, 0, 1])
    assert r.reencoded_ids.dtype == np.uint32
    assert r.mask is not None
    assert r.mask.dtype == np.uint8


@pytest.mark.parametrize("names", [{0: "tool", 1: "assistant"}, ["tool", "assistant"], ("tool", "assistant")])
def test_owner_names_by_number(names: dict[int, str] | list[str]) -> None:
    assert tito.check([0], TOK, owner_names=names).context.owner_names == {0: "tool", 1: "assistant"}


@pytest.mark.parametrize("names", [{0: 1}, {"tool": 0}, [1], "tool", {0: None}, 5], ids=repr)
def test_owner_names_that_are_none(names: Any) -> None:
    with pytest.raises(tito.RecordError, match="names by owner number are needed, such as") as caught:
        tito.check([0], TOK, owners=[0], owner_names=names)
    assert caught.value.column == "owner_names"


def test_model_vocab_size_is_a_size() -> None:
    for low in (0, -1):
        with pytest.raises(ValueError, match=f"model_vocab_size={low}: at least 1 is needed"):
            tito.check([0], TOK, model_vocab_size=low)
    with pytest.raises(TypeError, match="model_vocab_size='9'"):
        tito.check([0], TOK, model_vocab_size="9")  # type: ignore[arg-type]
    assert tito.check([0], TOK, model_vocab_size=np.int64(1)).context.model_vocab_size == 1  # type: ignore[arg-type]


def test_pipeline_is_compared_as_an_object_and_its_repr_is_short() -> None:
    one, other = (tito.check([2, 5, 2], TOK, skip_special_tokens=True).pipeline for _ in range(2))
    assert repr(one) == "<Pipeline drifted (special-skipped): 1 re-encoded token, 1 lost>"
    assert repr(tito.check([3], TOK, skip_special_tokens=True).pipeline) == (
        "<Pipeline clean: 1 re-encoded token, 0 lost>"
    )
    assert one != other


def test_owners_are_written_for_people() -> None:
    named = tito.check([0], TOK, owners=[0], owner_names={0: "to\x1bol"})
    assert (named.owner_name(0), named.owner_name(4)) == (r"to\x1bol", "owner 4")
    assert tito.check([0], TOK, mask=[0]).owner_name(1) == "mask 1"


def test_owners_and_their_mask_values() -> None:
    r = tito.check([0, 0, 0, 0], TOK, owners=[255, 0, 0, 7], mask=[1, 0, 1, 0])
    assert r.owner_masks == {0: (0, 1), 7: (0,), 255: (1,)}
    assert tito.check([0, 0], TOK, owners=[3, 3]).owner_masks == {3: ()}
    assert tito.check([0, 0], TOK, mask=[0, 1]).owner_masks == {0: (0,), 1: (1,)}
    assert tito.check([0], TOK).owner_masks == {}


def test_pieces() -> None:
    assert tito.check([0], TOK).pieces([4, 5, 99, 2**70]) == [
        '"aa"',
        '"<e>"',
        "<unknown 99>",
        "<unknown 1180591620717411303424>",
    ]


def test_pieces_of_a_redacted_row_are_ids() -> None:
    r = tito.check([0], TOK)
    r.context = RowContext({}, redact=True)
    assert r.pieces([4, 99, 2**70]) == ["4", "99", "1180591620717411303424"]


@pytest.mark.parametrize(("name", "shown"), [("Tool", "Tool"), ("assistant", "assistant"), ("a secret", "owner 0")])
def test_names_of_owners_in_a_redacted_row_are_those_of_roles(name: str, shown: str) -> None:
    r = tito.check([0], TOK, owners=[0])
    r.context = RowContext({0: name}, redact=True)
    assert r.owner_name(0) == shown


@pytest.mark.parametrize("kind", [None, "retokenized", "truncated", "rewritten"])
def test_realised_drift_is_what_the_context_says(kind: str | None) -> None:
    r = tito.check([0], TOK)
    assert (r.realised, r.realised_kind) == (None, None)
    r.context = RowContext({}, realised=SimpleNamespace(kind=kind))  # type: ignore[arg-type, unused-ignore]
    assert (r.realised, r.realised_kind) == (kind is not None, kind)


def test_repr() -> None:
    assert repr(tito.check([2, 2], TOK)) == "<Check drifted (merge): 2 -> 1 token>"
    assert repr(tito.check([3], TOK)) == "<Check clean: 1 -> 1 token>"
