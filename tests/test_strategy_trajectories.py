"""Trajectories: segments with mask and logprobs, which straddle if asked to."""

import pytest
from hypothesis import find
from hypothesis.errors import InvalidArgument

import tito_audit as tito
from drawing import drawn, kind, rejected, words
from tiny import byte_level, load
from tito_audit import strategies
from tito_audit.strategies import Trajectory

SOME = pytest.mark.parametrize("name", ["bytelevel_gpt2", "spm_prepend_added", "unigram_fallback", "wordpiece_cased"])


def straddling(tokenizer: tito.Tokenizer, rows: list[Trajectory]) -> list[int]:
    batch = tito.check_batch([row.token_ids for row in rows], tokenizer, mask=[row.mask for row in rows])
    counts: list[int] = batch.n_straddling.tolist()
    return counts


@SOME
def test_straddling_is_what_was_asked_for(name: str) -> None:
    reference = kind(name).loaded.with_engine("reference")
    for asked in (True, False):
        rows = drawn(strategies.trajectories(kind(name).loaded, straddling=asked))
        assert all((count > 0) == asked for count in straddling(reference, rows))
    rows = drawn(strategies.trajectories(kind(name).loaded), 60)
    assert {count > 0 for count in straddling(reference, rows)} == {True, False}


def test_no_draw_is_rejected() -> None:
    assert rejected(strategies.trajectories(kind("bytelevel_gpt2").loaded, straddling=True)) == 0


@SOME
def test_columns_fit_together(name: str) -> None:
    for row in drawn(strategies.trajectories(kind(name).loaded)):
        assert len(row.token_ids) == len(row.mask) == len(row.logprobs)
        assert [segment.start for segment in row.segments[1:]] == [segment.stop for segment in row.segments[:-1]]
        assert (row.segments[0].start, row.segments[-1].stop) == (0, len(row.token_ids))
        for segment in row.segments:
            assert segment.start < segment.stop
            part = slice(segment.start, segment.stop)
            assert set(row.mask[part]) == {int(segment.kind == "sampled")}
            assert all((logprob < 0) == (segment.kind == "sampled") for logprob in row.logprobs[part])
            assert min(row.logprobs) >= -8


def test_records_have_nothing_wrong_but_drift() -> None:
    tokenizer = kind("bytelevel_gpt2").loaded
    rows = drawn(strategies.trajectories(tokenizer))
    report = tito.audit([row.as_record() for row in rows], tokenizer)
    assert {code for code in report.statistics.by_code if code.startswith("TITO0")} <= {"TITO003"}


def test_turns_and_tools_are_as_many_as_asked_for() -> None:
    for turns in (1, 3):
        for tools in (True, False):
            strategy = strategies.trajectories(words().loaded, turns=turns, tools=tools, max_segment=6)
            for row in drawn(strategy):
                kinds = [segment.kind for segment in row.segments]
                assert kinds[0] == "prompt"
                assert kinds.count("sampled") == turns
                assert ("tool" in kinds) == tools
                assert all(segment.stop - segment.start <= 6 for segment in row.segments)


def test_the_simplest_is_two_tokens() -> None:
    plain = find(strategies.trajectories(words().loaded), lambda _: True)
    assert (plain.mask, [segment.kind for segment in plain.segments]) == ([0, 1], ["prompt", "sampled"])
    across = find(strategies.trajectories(words().loaded, straddling=True), lambda _: True)
    assert (across.token_ids, across.mask) == ([0, 2], [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"turns": 0}, "turns=0"),
        ({"tools": "yes"}, "tools='yes'"),
        ({"straddling": 1}, "straddling=1"),
        ({"max_segment": 3}, "max_segment=3"),
    ],
)
def test_wrong_options_are_said_when_drawn(options: dict[str, object], message: str) -> None:
    strategy = strategies.trajectories(words().loaded, **options)  # type: ignore[arg-type]
    assert "trajectories(" in repr(strategy)
    with pytest.raises(InvalidArgument, match=message):
        strategy.validate()


def test_a_tokenizer_in_which_nothing_straddles_is_said() -> None:
    for tokenizer in (load(["a", "b"]), byte_level()):
        with pytest.raises(InvalidArgument, match="straddling=True: no tokens"):
            strategies.trajectories(tokenizer, straddling=True).validate()
