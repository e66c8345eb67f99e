from dataclasses import replace
from typing import Any

import pytest

import tito_audit as tito
from tiny import byte_level, load, sentence_piece, straddler
from tito_audit.findings import Finding
from tito_audit.rendering.lanes import lanes

TOK = straddler()


def codes(check: tito.Check) -> list[str]:
    return [finding.code for finding in check.findings]


def test_a_finding_knows_its_rule() -> None:
    [finding] = tito.check([2, 2], TOK).findings
    assert (finding.code, finding.name, finding.severity, finding.cause) == ("TITO101", "merge", "note", "merge")
    assert finding.rule.headline
    assert str(finding) == 'TITO101 merge: "a" "a" -> "aa"'


def test_drift_span() -> None:
    [finding] = tito.check([0, 2, 2], TOK, owners=[1, 1, 2]).findings
    assert finding == Finding(
        code="TITO101",
        message='"a" "a" -> "aa"',
        cause="merge",
        token_start=1,
        token_stop=3,
        byte_start=1,
        byte_stop=3,
        first_diff=1,
        sampled_ids=(2, 2),
        reencoded_ids=(4,),
        owners=(1, 2),
    )


def test_straddling_follows_its_span() -> None:
    r = tito.check([0, 2, 2], TOK, mask=[0, 0, 1], owner_names=["tool", "assistant"])
    assert codes(r) == ["TITO101", "TITO301"]
    finding = r.findings[1]
    assert finding.message == '"aa" covers 1 byte of tool and 1 byte of assistant: no mask value is right for it'
    assert (finding.token_start, finding.token_stop, finding.byte_start, finding.byte_stop) == (1, 3, 1, 3)
    assert (finding.sampled_ids, finding.reencoded_ids, finding.owners) == ((2, 2), (4,), (0, 1))


def test_every_straddling_token_finds_its_span() -> None:
    r = tito.check([2, 2, 99, 3, 2, 2, 2, 2], TOK, mask=[0, 1, 1, 1, 0, 1, 0, 1])
    straddling = [finding for finding in r.findings if finding.code == "TITO301"]
    assert [(finding.token_start, finding.token_stop) for finding in straddling] == [(0, 2), (4, 6), (6, 8)]


def test_unknown_ids_are_one_finding() -> None:
    r = tito.check([0, 99, 3, -1, 2**70], TOK, model_vocab_size=128, owners=[0, 1, 1, 2, 1])
    assert codes(r) == ["TITO005"]
    [finding] = r.findings
    assert finding.severity == "error"
    assert (finding.positions, finding.padded_positions) == ((1, 3, 4), (1,))
    assert finding.sampled_ids == (99, -1, 2**70)
    assert (finding.token_start, finding.token_stop, finding.owners) == (1, 5, (1, 2))
    assert "1 in the padded range of the embedding of 128 rows, 2 beyond it" in finding.message
    assert len(r.spans) == 3


def test_embedding_smaller_than_the_vocabulary_is_doubted() -> None:
    [finding] = tito.check([99], TOK, model_vocab_size=5).findings
    assert "the embedding of 5 rows is smaller than the vocabulary" in finding.message


def test_unknown_ids_of_any_size_can_be_written() -> None:
    r = tito.check([10**5000, *range(100, 120)], TOK)
    assert "(15 more)" in r.findings[0].message
    assert r.findings[0].sampled_ids[0] == 10**5000
    assert str(r)


@pytest.mark.parametrize("size", [None, 100])
def test_without_unknown_ids_no_finding(size: int | None) -> None:
    assert codes(tito.check([0], TOK, model_vocab_size=size)) == []


def test_row_findings() -> None:
    assert codes(tito.check([], TOK)) == ["TITO018"]
    assert codes(tito.check([], TOK, mask=[])) == ["TITO018"]
    assert codes(tito.check([0, 1], TOK, mask=[0, 0])) == ["TITO004"]
    assert codes(tito.check([0, 1], TOK, mask=[0, 1])) == []


def test_row_findings_come_first_then_by_position() -> None:
    r = tito.check([2, 2, 3, 99, 2, 2], TOK, mask=[0] * 6)
    assert codes(r) == ["TITO004", "TITO101", "TITO005", "TITO101"]


def test_shared_character_names_its_tokens() -> None:
    r = tito.check(list("aé".encode()), byte_level(), mask=[1, 0, 1])
    assert not r.drifted
    [finding] = r.findings
    assert finding.code == "TITO302"
    assert (finding.positions, finding.token_start, finding.token_stop) == ((1, 2), 1, 3)
    assert finding.owners == (0, 1)


def test_what_is_wrong_with_the_record_takes_its_place_among_the_findings() -> None:
    padding = Finding(code="TITO014", message="padding is trained", token_start=1, token_stop=2)
    whole = Finding(code="TITO012", message="no end id")
    r = tito.check([2, 2, 5], TOK)
    r.context = replace(r.context, findings=(padding, whole))
    assert codes(r) == ["TITO012", "TITO101", "TITO014"]


def test_a_redacted_row_has_findings_of_ids() -> None:
    options: dict[str, Any] = {
        "mask": [0, 0, 1, 0, 0],
        "owners": [0, 0, 1, 0, 2],
        "owner_names": ["tool", "secret name", "model"],
    }
    r = tito.check([5, 2, 2, 99, 0], TOK, **options)
    r.context = replace(r.context, redact=True, findings=())
    assert [str(finding) for finding in r.findings] == [
        "TITO101 merge: 2 2 -> 4",
        "TITO301 straddling-token: 4 covers 1 byte of tool and 1 byte of owner 1: no mask value is right for it",
        "TITO005 unknown-id: outside the vocabulary of 6 ids: 99 at 3",
    ]


def test_pipeline_findings() -> None:
    r = tito.check([2, 5, 2], TOK, skip_special_tokens=True)
    [finding] = r.findings
    assert (finding.code, finding.cause, finding.positions) == ("TITO205", "special-skipped", (1,))
    assert finding.message == (
        "the pipeline's decode does not come back: 1 id dropped, 3 ids become 1, first at token 0"
    )


def test_pipeline_that_adds_nothing_to_the_drift_is_no_finding() -> None:
    assert codes(tito.check([2, 2], TOK, skip_special_tokens=True)) == ["TITO101"]


def test_artefact_spans_are_notes() -> None:
    [finding] = tito.check([4, 2], sentence_piece()).findings
    assert (finding.code, finding.severity) == ("TITO207", "note")
    assert finding.message == 'nothing -> "·"'


def test_hostile_text_cannot_reach_the_terminal() -> None:
    hostile = list("\x1b]0;owned\x07\x1b[2J\u202e\r".encode())
    r = tito.check([*hostile, 0xFF], byte_level(), owners=[0] * (len(hostile) + 1), owner_names={0: "\x1b[31m"})
    for finding in r.findings:
        assert finding.message.isprintable()
    assert all(line.isprintable() for line in str(r).split("\n"))


def test_long_spans_are_cut() -> None:
    doubles = ["a" * 2**power for power in range(7)]
    tok = load(doubles, [(half, half) for half in doubles[:-1]])
    [finding] = tito.check([0] * 64, tok).findings
    assert finding.message == f'"a" "a" "a" "a" "a" "a" ... (58 more) -> "{"a" * 64}"'
    assert len(finding.sampled_ids) == 64


def test_an_integer_too_long_to_write_is_kept_and_cut_where_it_is_shown() -> None:
    r = tito.check([10**5000, 2, 2], TOK, mask=[1, 1, 0])
    assert r.findings[0].sampled_ids == (10**5000,)
    assert "10000000...(5001 digits) at 0" in r.findings[0].message
    for rendered in (str(r), repr(r), repr(r.findings), lanes(r, r.spans[0])):
        assert "(5001 digits)" in rendered or rendered == repr(r)
