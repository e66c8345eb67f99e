"""Two tokenizers compared: ids, pre-tokens and stored rows that change, each as the reference sees it."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Wheel

from faulty import PLANTED, Spec, spec_of, with_added_token, with_other_digit, without_merge
from lines import write
from tito_audit.fuzzing.difference import Comparison, compare
from tito_audit.fuzzing.pretokens import PreTokens
from tito_audit.reading.rows import ReadOptions
from tito_audit.tokenizer import Tokenizer
from zoo import BLOCKS, KINDS, zoo

KIND = "bytelevel_chained"


def load(spec: Spec) -> Tokenizer:
    return Tokenizer(json.dumps(spec).encode(), "tokenizer.json")


def compared(old: Spec, new: Spec, *files: str) -> Comparison:
    return compare(load(old), load(new), files, reading=ReadOptions())


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_does_not_differ_from_itself(kind: str, tmp_path: Path) -> None:
    tok = Tokenizer(zoo()[kind].encode(), kind)
    rows = [{"token_ids": tok.encode(block).tolist()} for block in BLOCKS[:3]] + [{"token_ids": [0, 1, 2, 10**9]}]
    comparison = compare(tok, tok, [write(tmp_path / "r.jsonl", *rows)], reading=ReadOptions())
    assert not comparison.differs
    assert comparison.complete
    assert comparison.stored is not None
    assert comparison.stored.rows == 4


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_differs(fault: str) -> None:
    spec = spec_of(KIND)
    PLANTED[fault](spec)
    comparison = compared(spec_of(KIND), spec)
    assert comparison.differs
    assert comparison.changes


def test_ids_of_other_meaning_are_all_listed() -> None:
    spec = spec_of("bytelevel_gpt2")
    vocab = spec["model"]["vocab"]
    one, other = sorted(vocab, key=vocab.get)[-2:]
    vocab[one], vocab[other] = vocab[other], vocab[one]
    added = with_added_token(spec, "no entry")
    found = compared(spec_of("bytelevel_gpt2"), spec).ids
    assert [change.id for change in found] == sorted([vocab[one], vocab[other], added])
    assert (found[-1].old, found[-1].new, found[-1].new_added) == (None, b"no entry", True)


def test_pretokens_that_are_cut_otherwise() -> None:
    spec = spec_of(KIND)
    with_other_digit(spec)
    comparison = compared(spec_of(KIND), spec)
    assert ("123", ("123",), ("12", "3")) in {(each.text, each.old, each.new) for each in comparison.pretokens.cut}
    assert not comparison.pretokens.encoded
    assert not comparison.ids


def test_pretokens_that_are_encoded_otherwise() -> None:
    spec = spec_of("bytelevel_gpt2")
    left, right = without_merge(spec, 40)
    comparison = compared(spec_of("bytelevel_gpt2"), spec)
    product = spec["model"]["vocab"][left + right]
    assert product in comparison.broken
    assert not comparison.pretokens.cut
    assert any(each.old_ids == (product,) for each in comparison.pretokens.encoded)
    other = compared(spec, spec_of("bytelevel_gpt2"))
    assert (other.mended, other.broken) == (comparison.broken, comparison.mended)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["12", "345", "a", " b", "\n", "é", "日本", "!", " "]), max_size=12).map("".join))
def test_where_texts_are_cut_otherwise_is_what_the_wheel_says(text: str) -> None:
    spec = spec_of(KIND)
    with_other_digit(spec)
    old, new = spec_of(KIND), spec
    cuts = []
    for description in (old, new):
        pre_tokenizer = Wheel.from_str(json.dumps(description)).pre_tokenizer
        assert pre_tokenizer is not None
        cuts.append([span for _, span in pre_tokenizer.pre_tokenize_str(text)])
    pretokens = PreTokens(load(old), load(new))
    pretokens.look_at([text])
    # Each place counts once, so what is left is that there are some iff the cuts differ, and that they are the text's.
    assert bool(pretokens.cut) == (cuts[0] != cuts[1])
    for each in pretokens.cut:
        assert "".join(each.old) == "".join(each.new) == each.text
        assert each.text in text


def test_stored_rows_that_change(tmp_path: Path) -> None:
    old, spec = load(spec_of("bytelevel_gpt2")), spec_of("bytelevel_gpt2")
    left, right = without_merge(spec, 40)
    product = spec["model"]["vocab"][left + right]
    parts = [spec["model"]["vocab"][part] for part in (left, right)]
    letter = old.encode("!").tolist()
    rows = [{"token_ids": ids} for ids in (letter, [product], [*letter, *parts], letter * 3)]
    path = write(tmp_path / "r.jsonl", *rows, {"token_ids": [0.5]})
    comparison = compared(spec_of("bytelevel_gpt2"), spec, path)
    stored = comparison.stored
    assert stored is not None
    assert [(change.row, change.decoded, change.encoded, change.drift) for change in stored.changes] == [
        (2, False, True, "begins"),
        (3, False, True, "ends"),
    ]
    assert [change.first_diff for change in stored.changes] == [0, 1]
    assert (stored.rows, stored.skipped) == (4, 1)
    assert not comparison.complete


def test_rows_whose_ids_mean_other_text(tmp_path: Path) -> None:
    spec = spec_of("bytelevel_gpt2")
    vocab = spec["model"]["vocab"]
    vocab["!"], vocab["?"] = vocab["?"], vocab["!"]
    path = write(tmp_path / "r.jsonl", {"token_ids": [vocab["!"]]}, {"token_ids": [vocab["a"]]})
    stored = compared(spec_of("bytelevel_gpt2"), spec, path).stored
    assert stored is not None
    assert [(change.row, change.decoded, change.encoded, change.drift) for change in stored.changes] == [
        (1, True, True, None)
    ]


def test_no_row_is_not_everything(tmp_path: Path) -> None:
    spec = spec_of("bytelevel_gpt2")
    assert not compared(spec, spec, write(tmp_path / "r.jsonl")).complete
    missing = compared(spec, spec, str(tmp_path / "none.jsonl"))
    assert not missing.complete
    assert missing.stored is not None
    assert len(missing.stored.failed) == 1


def test_long_stretches_are_counted_and_not_kept() -> None:
    spec = spec_of("spm_replace")
    left, right = without_merge(spec, 0)
    pretokens = PreTokens(load(spec_of("spm_replace")), load(spec))
    text = (left + right).replace("▁", " ") * 300
    pretokens.look_at([text, text[: len(left + right)]])
    assert pretokens.long == 1
    assert [each.text.replace("▁", " ") for each in pretokens.encoded] == [text[: len(left + right)]]
