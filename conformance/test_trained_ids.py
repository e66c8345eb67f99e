"""What was trained beside what was sampled: the article's figure, and rollouts that were really scored again."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from brute import SMOLLM2, causes, reference
from shared import SHARED, audited, lines, tokenizer, tokenizer_path, write_lines
from tokenizers import Tokenizer

import tito_audit as tito
from reference import Row, drift_spans
from tracked import byte_level_bytes

FIGURE = (SHARED / "background" / "retokenize-drift.txt").read_text(encoding="utf-8")
SAMPLED_MASK = [0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1]
"""Of the figure: P P P | A A A A | P P | A A."""
SIZE, TURN = 11, slice(3, 7)


def round_trip(wheel: Tokenizer, ids: Sequence[int]) -> list[int]:
    text = wheel.decode(list(ids), skip_special_tokens=False)
    found: list[int] = wheel.encode(text, add_special_tokens=False).ids
    return found


def figures(name: str) -> Iterator[tuple[list[int], list[int]]]:
    """Eleven sampled ids, of which only the two in the middle of the first answer come back as one."""
    wheel = Tokenizer.from_file(str(tokenizer_path(name)))
    around = wheel.encode("Ask: Hello world! Yes, it is. Thanks a lot", add_special_tokens=False).ids
    assert len(around) >= SIZE
    for word in ("dataset", "database", "network", "keyboard", "wallpaper", "notebook", "framework", "homework"):
        for cut in range(2, len(word) - 1):
            found = [wheel.token_to_id(piece) for piece in ("Ġ" + word[:cut], word[cut:], "Ġ" + word)]
            *parts, whole = [token for token in found if token is not None] or [0]
            if None in found:
                continue
            ids = [*around[:4], *parts, *around[4:9]]
            trained = [*around[:4], whole, *around[4:9]]
            if round_trip(wheel, ids) == trained:
                yield ids, trained


@pytest.fixture(scope="module", params=["smollm2", "qwen3", "llama3"])
def figure(request: pytest.FixtureRequest) -> tuple[str, list[int], list[int], list[int]]:
    """Tokenizer, sampled ids, trained ids, and the mask kept by position."""
    ids, trained = next(figures(request.param))
    assert len(ids) == len(SAMPLED_MASK) == SIZE
    assert len(round_trip(Tokenizer.from_file(str(tokenizer_path(request.param))), ids[TURN])) == 3
    return request.param, ids, trained, SAMPLED_MASK[: len(trained)]


def test_the_figure_is_the_articles() -> None:
    assert "长度从 4 变 3" in FIGURE
    assert "mask   :  0  0  0  | 1  1  1  1 | 0  0 | 1  1" in FIGURE
    assert "mask   :  0  0  0  | 1  1  1  1| 0  0| 1 " in FIGURE


def test_of_the_figure_one_prompt_token_is_trained_and_one_answer_token_missed(
    figure: tuple[str, list[int], list[int], list[int]],
) -> None:
    name, ids, trained, mask = figure
    result = tito.check(ids, tokenizer(name), mask=SAMPLED_MASK, train_ids=trained, train_mask=mask)
    realised = result.context.realised
    assert result.realised
    assert result.realised_kind == "retokenized"
    assert realised is not None
    assert (realised.wrong_trained, realised.wrong_untrained, realised.straddling) == (1, 1, 0)
    # Of the ten trained ids the seventh is a prompt's, the ninth an answer's.
    assert realised.wrong_positions == (6, 8)
    (span,) = realised.spans
    assert (span.token_start, span.token_stop, span.trained_start, span.trained_stop) == (4, 6, 4, 5)
    assert {finding.code for finding in result.findings} >= {"TITO110", "TITO306"}
    right = [*mask[:4], *SAMPLED_MASK[5:]]
    moved = tito.check(ids, tokenizer(name), mask=SAMPLED_MASK, train_ids=trained, train_mask=right)
    assert moved.context.realised is not None
    assert (moved.context.realised.wrong_trained, moved.context.realised.wrong_untrained) == (0, 0)
    with pytest.raises(tito.DriftError):
        tito.assert_trained_ids(ids, trained, mask=SAMPLED_MASK)


@pytest.mark.parametrize("parts", [False, True])
def test_the_command_says_the_same_of_the_figure(
    figure: tuple[str, list[int], list[int], list[int]],
    tmp_path: Path,
    parts: bool,  # noqa: FBT001
) -> None:
    name, ids, trained, mask = figure
    record: dict[str, Any] = {"token_ids": ids, "mask": SAMPLED_MASK, "train_ids": trained, "train_mask": mask}
    if parts:
        record |= {"prompt_ids": ids[:3], "response_ids": ids[3:], "mask": SAMPLED_MASK[3:]}
        del record["token_ids"]
    code, report = audited(write_lines(tmp_path / "r.jsonl", [record]), name=name)
    statistics = report["statistics"]
    assert code == 1
    assert (statistics["realised_rows"], statistics["compared_rows"]) == (1, 1)
    assert {kind: rows for kind, rows in statistics["realised_by_kind"].items() if rows} == {"retokenized": 1}
    assert (statistics["by_code"]["TITO110"]["rows"], statistics["by_code"]["TITO306"]["tokens"]) == (1, 2)
    (wrong,) = [found for found in report["findings"] if found["code"] == "TITO306"]
    assert wrong["message"].startswith("1 token of mask 0 is trained, 1 token of mask 1 is missed; 0 straddling")
    assert wrong["positions"] == {"listed": [6, 8], "count": 2}
    (differ,) = [found for found in report["findings"] if found["code"] == "TITO110"]
    assert differ["message"].startswith("retokenized: 11 sampled ids became 10; first at token 4")
    assert (differ["token_start"], differ["token_stop"], differ["first_diff"]) == (4, 6, 4)
    assert (differ["sampled"]["ids"], differ["reencoded"]["ids"]) == (ids[4:6], trained[4:5])


# Rollouts that the same weights scored again


def scored_again() -> list[dict[str, Any]]:
    """The rollouts of which it is known what a trainer that encodes again scores."""
    rescored = {record["id"]: record["reencoded_ids"] for record in lines(SMOLLM2 / "rescored_t1.0.jsonl")}
    rollouts = [record for record in lines(SMOLLM2 / "rollouts_t1.0.jsonl") if record["id"] in rescored]
    assert len(rollouts) == len(rescored) == 40
    kept = [{name: each[name] for name in ("id", "token_ids", "mask")} for each in rollouts]
    return [each | {"train_ids": rescored[each["id"]]} for each in kept]


def bytes_of(wheel: Tokenizer, ids: Sequence[int]) -> list[bytes]:
    """The bytes that each token stands for: of a byte-level piece its letters, of an added token its own text."""
    added = wheel.get_added_tokens_decoder()
    pieces = [(id_, wheel.id_to_token(id_) or "") for id_ in ids]
    return [added[id_].content.encode() if id_ in added else byte_level_bytes(piece) for id_, piece in pieces]


def cells(ours: Sequence[bytes], theirs: Sequence[bytes]) -> Iterator[tuple[slice, slice]]:
    """Tokens of both sides between neighbouring offsets that both sides have an edge at; every token has bytes."""
    sides = [[0, *accumulate(map(len, side))] for side in (ours, theirs)]
    assert sides[0][-1] == sides[1][-1]
    common = sorted(set(sides[0]) & set(sides[1]))
    for start, stop in pairwise(common):
        yield (
            slice(sides[0].index(start), sides[0].index(stop)),
            slice(sides[1].index(start), sides[1].index(stop)),
        )


def as_trained(ids: list[int], trained: list[int]) -> Row:
    """The brute force's row with the trained ids in place of the re-encoded ones."""
    row = reference().judge(ids)
    return row if row.reencoded == trained else replace(row, reencoded=trained, placed=None)


def expected_kind(wheel: Tokenizer, ids: list[int], trained: list[int]) -> str | None:
    if ids == trained:
        return None
    if len(trained) < len(ids) and trained in (ids[: len(trained)], ids[len(ids) - len(trained) :]):
        return "truncated"
    texts = [wheel.decode(each, skip_special_tokens=False) for each in (ids, trained)]
    return "retokenized" if texts[0] == texts[1] else "rewritten"


def test_kinds_spans_and_causes_of_what_was_really_scored_again(tmp_path: Path) -> None:
    wheel, tok = Tokenizer.from_file(str(tokenizer_path("smollm2"))), tokenizer("smollm2")
    records = scored_again()
    kinds: Counter[str] = Counter()
    by_boundary = spans_seen = tokens = 0
    for record in records:
        ids, trained = record["token_ids"], record["train_ids"]
        realised = tito.check(ids, tok, mask=record["mask"], train_ids=trained).context.realised
        assert realised is not None
        kind = expected_kind(wheel, ids, trained)
        assert realised.kind == kind
        kinds[str(kind)] += 1
        row = as_trained(ids, trained)
        assert row.reencoded == trained == round_trip(wheel, ids), "the trainer's round trip was the wheel's"
        expected = drift_spans(row)
        assert expected is not None
        places = [tuple(asdict(span).values())[:6] for span in expected]
        assert [tuple(span)[2:] for span in realised.spans] == places
        wanted = causes().of(row, expected)
        assert [span.code for span in realised.spans] == wanted
        tokens += sum(span.token_stop - span.token_start for span in expected)
        spans_seen += len(expected)
        sides = bytes_of(wheel, ids), bytes_of(wheel, trained)
        if b"".join(sides[0]) == b"".join(sides[1]):  # else a byte was no UTF-8, and was replaced
            by_boundary += 1
            differing = [cell for cell in cells(*sides) if ids[cell[0]] != trained[cell[1]]]
            assert len(realised.spans) == len(differing)
            assert [(span.token_stop, span.trained_stop) for span in realised.spans] == [
                (ours.stop, theirs.stop) for ours, theirs in differing
            ]
    assert kinds == {"retokenized": 40}
    assert by_boundary >= 35
    code, report = audited(write_lines(tmp_path / "joined.jsonl", records))
    statistics = report["statistics"]
    assert code == 1
    assert (statistics["realised_rows"], statistics["compared_rows"], statistics["drift_rows"]) == (40, 40, 40)
    assert {kind: rows for kind, rows in statistics["realised_by_kind"].items() if rows} == kinds
    assert statistics["by_code"]["TITO110"]["rows"] == 40
    assert statistics["by_code"]["TITO110"]["tokens"] == tokens
    assert spans_seen > 40


def test_every_kind_is_told_from_the_others(tmp_path: Path) -> None:
    """Real rollouts of which the trainer kept the ids, cut them, encoded them again, or changed the text."""
    wheel = Tokenizer.from_file(str(tokenizer_path("smollm2")))
    rollouts = list(lines(SMOLLM2 / "rollouts_t1.0.jsonl"))[:200]
    changes: tuple[Callable[[list[int]], list[int]], ...] = (
        lambda ids: ids,
        lambda ids: ids[: len(ids) * 2 // 3],
        lambda ids: ids[7:],
        lambda ids: round_trip(wheel, ids),
        lambda ids: wheel.encode(wheel.decode(ids, skip_special_tokens=True), add_special_tokens=False).ids,
        lambda ids: [*ids[:50], *ids[51:]],
        lambda _: [],
    )
    records = [
        {"id": each["id"], "token_ids": each["token_ids"], "mask": each["mask"]}
        | {"train_ids": changes[at % len(changes)](each["token_ids"])}
        for at, each in enumerate(rollouts)
    ]
    expected = [expected_kind(wheel, each["token_ids"], each["train_ids"]) for each in records]
    assert {None, "truncated", "retokenized", "rewritten"} == set(expected)
    rows = tmp_path / "rows.jsonl"
    code, report = audited(write_lines(tmp_path / "r.jsonl", records), "--rows-out", rows)
    written = list(lines(rows))
    assert [row["realised_kind"] for row in written] == expected
    assert [row["realised"] for row in written] == [kind is not None for kind in expected]
    counts = Counter(filter(None, expected))
    statistics = report["statistics"]
    assert code == 1
    assert {kind: count for kind, count in statistics["realised_by_kind"].items() if count} == dict(counts)
    assert (statistics["realised_rows"], statistics["compared_rows"]) == (counts.total(), len(records))
    assert statistics["by_code"]["TITO111"]["rows"] == counts["truncated"]
    lost = [
        len(each["token_ids"]) - len(each["train_ids"])
        for each, kind in zip(records, expected, strict=True)
        if kind == "truncated"
    ]
    assert statistics["by_code"]["TITO111"]["tokens"] == sum(lost)


def test_spans_rebuild_both_sides() -> None:
    """Whatever was trained, putting the trained side of every span into the sampled ids gives the trained ids."""
    tok = tokenizer("smollm2")
    records = scored_again()
    for one, other in pairwise(records):
        ids, trained = one["token_ids"], [*one["train_ids"][:60], *other["token_ids"][40:90], *one["train_ids"][80:]]
        realised = tito.check(ids, tok, train_ids=trained).context.realised
        assert realised is not None
        assert realised.kind == "rewritten"
        rebuilt: list[int] = []
        done = 0
        for span in realised.spans:
            rebuilt += ids[done : span.token_start]
            assert len(rebuilt) == span.trained_start
            rebuilt += trained[span.trained_start : span.trained_stop]
            done = span.token_stop
        assert [*rebuilt, *ids[done:]] == trained
