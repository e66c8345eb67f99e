"""What people read. The whole text is compared, so that a change of wording is a decision."""

import pytest

import tito_audit as tito
from tiny import byte_level, sentence_piece, straddler

TOK = straddler()

HELP = """\
help: Keep the sampled ids from the sampler to the loss and never encode what was decoded: append ids to the
      buffer, tool results included, and build mask and logprobs as it grows."""


def test_clean() -> None:
    assert str(tito.check([0, 1], TOK)) == "clean: 2 ids come back unchanged"
    assert str(tito.check([0], TOK, mask=[1])) == "clean: 1 id (1 trained) comes back unchanged"


def test_drift() -> None:
    r = tito.check([0, 1, 2, 2, 3], TOK, mask=[1, 0, 0, 1, 1])
    assert (
        str(r)
        == f"""\
drift: 5 ids (3 trained) come back as 4; first difference at token 2
TITO101 merge: neighbouring tokens merge or are cut elsewhere when the text is encoded again
  --> tokens 2..4, bytes 2..4
  sampled     "b" ¦ "T"  "a" ¦ "a"  "x"   0 ¦ 1 2 ¦ 2 3
  re-encoded  "b"   "T"  [ "aa" ]   "x"   0   1 4     3
  mask        1 - ¦ 0 ------ ¦ 1 ------
TITO301 straddling-token: "aa" covers 1 byte of mask 0 and 1 byte of mask 1: no mask value is right for it
{HELP}"""
    )


def test_artefact() -> None:
    assert (
        str(tito.check([4, 2], sentence_piece()))
        == """\
artefact, no drift: 2 ids come back as 3, but only the spaces beside control tokens differ
TITO207 control-spacing: only a space that is printed or added beside a control token differs
  --> before token 1, bytes 3..3
  sampled     «<s>»       "·a"   4   2
  re-encoded  «<s>»  "·"  "·a"   4 0 2
help: Nothing needs to be done while ids are kept."""
    )


def test_unknown_ids_and_row_findings() -> None:
    assert (
        str(tito.check([0, 99], TOK, mask=[0, 0]))
        == """\
drift: 2 ids (0 trained) come back as 1; first difference at token 1
TITO004 no-trainable-token: the mask is 0 at all 2 tokens: nothing is trained
TITO005 unknown-id: outside the vocabulary of 6 ids: 99 at 1
help: Mask the padded logits in the sampler, and audit with the tokenizer the sampler used."""
    )


def test_many_spans_show_one_of_each_cause_and_count_the_rest() -> None:
    r = tito.check([0x61, 0xC3, 0x61, 300, *[0xC3, 0x61] * 5], byte_level())
    text = str(r)
    assert text.count("  --> ") == 3
    assert text.count("TITO201 invalid-utf8") == 1
    assert "  and 3 more spans: invalid-utf8 3" in text


def test_silent_drift_says_so() -> None:
    r = tito.check([0xFF, 0xFF, 0xFF], byte_level())
    assert "silently: the length is the same" not in str(r)
    assert r.drifted


def test_failed_assertion() -> None:
    with pytest.raises(tito.DriftError) as caught:
        tito.assert_no_drift([2, 2, 3, 2, 2, 99], TOK)
    assert (
        str(caught.value)
        == f"""\
2 sampled ids re-encode to 1 (TITO101 merge), tokens 0..2
  sampled     "a"  "a"  "x"  ...   2 2 3
  re-encoded  "aa"      "x"  ...   4   3
  and 2 more spans: merge 1, unknown-id 1
{HELP}"""
    )
    assert caught.value.result is not None
    assert caught.value.result.drifted


@pytest.mark.parametrize("ids", [[99], [0, 2, 2]])
def test_a_failed_assertion_ends_with_the_help_of_the_verdict(ids: list[int]) -> None:
    with pytest.raises(tito.DriftError) as caught:
        tito.assert_no_drift(ids, TOK)
    told, verdict = (text.partition("\nhelp: ")[2] for text in (str(caught.value), str(tito.check(ids, TOK))))
    assert told == verdict != ""


@pytest.mark.parametrize("size", [None, 128])
def test_help_does_not_ask_for_what_was_given(size: int | None) -> None:
    assert "model_vocab_size" not in str(tito.check([99], TOK, model_vocab_size=size))


@pytest.mark.parametrize(
    ("ids", "start"),
    [
        ([99], "1 sampled id re-encodes to nothing (TITO005 unknown-id), token 0"),
        ([0, 2, 2], "2 sampled ids re-encode to 1 (TITO101 merge), tokens 1..3"),
    ],
)
def test_first_line_of_a_failed_assertion(ids: list[int], start: str) -> None:
    with pytest.raises(tito.DriftError) as caught:
        tito.assert_no_drift(ids, TOK)
    assert str(caught.value).split("\n")[0] == start


def test_spacing_is_not_what_a_failure_shows() -> None:
    with pytest.raises(tito.DriftError, match=r"^re-encoding adds 1 id \(TITO203 prefix-space\), before token 3"):
        tito.assert_no_drift([4, 2, 4, 2, 1, 1], sentence_piece())


def test_mixed_row_gives_the_advice_for_what_is_wrong() -> None:
    text = str(tito.check([4, 2, 4, 2, 1, 1], sentence_piece()))
    assert "TITO207 control-spacing" in text
    assert f"\n{HELP.removesuffix('.')}" in text


def test_pipeline_is_told() -> None:
    clean, pipeline, _ = str(tito.check([2, 5, 2], TOK, skip_special_tokens=True)).split("\n")
    assert clean == "clean: 3 ids come back unchanged"
    assert pipeline == (
        "TITO205 special-skipped: the pipeline's decode does not come back: 1 id dropped, 3 ids become 1, first at "
        "token 0"
    )


def test_owners_are_named_once() -> None:
    r = tito.check([2, 2, 0, 2, 2], TOK, owners=[0, 1, 0, 0, 1], owner_names=["tool", "assistant"])
    assert str(r).count("  owner  ") == 2
    assert str(r).count("T tool") == 1
