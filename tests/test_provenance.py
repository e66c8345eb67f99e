import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import tito_audit as tito
import zoo
from reference import Reference, provenance_of
from sequences import Sampled, Sequences
from tiny import byte_level, sentence_piece, straddler
from tito_audit._core import characters

TOK = straddler()
BYTES = byte_level()


def test_bytes_and_characters() -> None:
    p = tito.provenance(list("aé日".encode()), BYTES, owners=[0, 1, 1, 2, 2, 3])
    assert p.text == "aé日"
    assert p.byte_token.tolist() == [0, 1, 2, 3, 4, 5]
    assert p.char_token.tolist() == [0, 1, 3]
    assert p.char_byte.tolist() == [0, 1, 3]
    assert p.byte_owner is not None
    assert p.byte_owner.tolist() == [0, 1, 1, 2, 2, 3]
    assert p.char_owner is not None
    assert p.char_owner.tolist() == [0, 1, -1]
    assert p.runs == ((0, 0, 1), (1, 1, 2), (-1, 2, 3))
    assert p.shared_tokens == (3, 4, 5)


def test_types() -> None:
    p = tito.provenance([0, 1], TOK, mask=[0, 1])
    assert p.byte_owner is not None
    assert p.char_owner is not None
    assert p.byte_owner.dtype == p.char_owner.dtype == np.int16
    assert p.byte_token.dtype == p.char_token.dtype == p.char_byte.dtype == np.int32
    assert {type(number) for run in p.runs for number in run} == {int}


def test_without_owners() -> None:
    p = tito.provenance([0, 4], TOK)
    assert p.text == "baa"
    assert p.byte_token.tolist() == [0, 1, 1]
    assert (p.byte_owner, p.char_owner, p.runs, p.shared_tokens) == (None, None, (), ())


def test_owners_win_over_a_mask() -> None:
    p = tito.provenance([0, 1], TOK, mask=[0, 1], owners=[7, 9])
    assert p.runs == ((7, 0, 1), (9, 1, 2))


@pytest.mark.parametrize(
    ("mask", "owners"), [([0], None), ([0, 2], None), ([0, -100], [1, 1]), (None, [0]), (None, [0, 256])]
)
def test_data_that_does_not_fit(mask: object, owners: object) -> None:
    with pytest.raises(tito.RecordError):
        tito.provenance([0, 1], TOK, mask=mask, owners=owners)
    with pytest.raises(tito.RecordError, match="row 0"):
        tito.provenance_batch(
            [[0, 1]], TOK, mask=None if mask is None else [mask], owners=None if owners is None else [owners]
        )


def test_empty_row() -> None:
    p = tito.provenance([], TOK, mask=[])
    assert (p.text, p.runs, len(p.byte_token), len(p.char_token)) == ("", (), 0, 0)


def test_unknown_ids_own_nothing() -> None:
    p = tito.provenance([0, 99, 2**70, 1], TOK, mask=[0, 1, 1, 0])
    assert p.text == "bT"
    assert p.byte_token.tolist() == [0, 3]
    assert p.runs == ((0, 0, 2),)


def test_replacement_character_of_two_owners_is_shared() -> None:
    p = tito.provenance([0xE2, 0x98, 0x61], BYTES, mask=[0, 1, 1])
    assert p.text == "\ufffda"
    assert p.byte_owner is not None
    assert p.byte_owner.tolist() == [-1, -1, -1, 1]
    assert p.byte_token.tolist() == [0, 0, 0, 2]
    assert p.runs == ((-1, 0, 1), (1, 1, 2))


def test_stripped_space_has_no_byte() -> None:
    p = tito.provenance([2, 2], sentence_piece(), mask=[0, 1])
    assert p.text == "a a"
    assert p.byte_token.tolist() == [0, 1, 1]


@given(st.lists(st.text(max_size=6), max_size=5), st.data())
def test_runs_tile_the_text(texts: list[str], data: st.DataObject) -> None:
    ids = [byte for text in texts for byte in text.encode("utf-8", "replace")]
    owners = data.draw(st.lists(st.integers(0, 2), min_size=len(ids), max_size=len(ids)))
    p = tito.provenance(ids, BYTES, owners=owners)
    assert p.text == bytes(ids).decode()
    assert p.byte_owner is not None
    assert p.byte_owner.tolist() == owners
    stops = [0, *(stop for _, _, stop in p.runs)]
    assert [start for _, start, _ in p.runs] == stops[:-1]
    assert stops[-1] == len(p.text)
    assert all(a[0] != b[0] for a, b in zip(p.runs, p.runs[1:], strict=False))
    for owner, start, stop in p.runs:
        for place in range(start, stop):
            first = int(p.char_byte[place])
            owned = set(owners[first : first + len(p.text[place].encode())])
            assert owned == {owner} if owner >= 0 else len(owned) > 1


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 2)), max_size=10))
def test_check_counts_the_shared_characters(tokens: list[tuple[int, int]]) -> None:
    ids, owners = [byte for byte, _ in tokens], [owner for _, owner in tokens]
    p = tito.provenance(ids, BYTES, owners=owners)
    assert p.char_owner is not None
    assert tito.check(ids, BYTES, owners=owners).shared_characters == int((p.char_owner == -1).sum())
    assert bool(p.shared_tokens) == bool((p.char_owner == -1).any())


@pytest.mark.parametrize("owned", [True, False])
@given(rows=st.lists(st.lists(st.integers(0, 255), max_size=8), max_size=6))
def test_batch_says_the_same(rows: list[list[int]], *, owned: bool) -> None:
    mask = [[byte & 1 for byte in row] for row in rows]
    batch = tito.provenance_batch(rows, BYTES, mask=mask if owned else None, threads=2)
    assert len(batch) == len(rows)
    assert (batch.byte_owner is None) == (batch.char_owner is None) == (not owned)
    for i, row in enumerate(rows):
        one, many = tito.provenance(row, BYTES, mask=mask[i] if owned else None), batch[i]
        assert (one.text, one.runs, one.shared_tokens) == (many.text, many.runs, many.shared_tokens)
        assert one.byte_token.tolist() == many.byte_token.tolist()
        assert one.char_byte.tolist() == many.char_byte.tolist()
        text = batch.text_bytes[batch.byte_offsets[i] : batch.byte_offsets[i + 1]].tobytes()
        assert text.decode() == one.text


BRUTE = {  # rows by kind: decoders that join the bytes of their tokens, and some that do more
    "bytelevel_cl100k": 2000,
    "bytelevel_added": 2000,
    "bytelevel_odd_vocabulary": 2000,
    "spm_prepend_added": 2000,
    "spm_replace_split": 1000,
    "metaspace_first": 500,
    "unigram_fallback": 500,
}


def sampled(reference: Reference, count: int) -> list[Sampled]:
    """Rows of every kind, some empty, one longer than what is worked on at a time, some of broken characters."""
    sequences = Sequences(reference.wheel, seed=7)
    rows = list(sequences.rows(count, long=1))
    pieces = [token for piece, token in reference.wheel.get_vocab().items() if len(piece) == 1 or piece[:3] == "<0x"]
    rng = np.random.default_rng(7)
    for at in range(1, count, 10):
        rows[at] = sequences.owned(rng.choice(sorted(pieces), size=rng.integers(9)).tolist())
    return rows


@pytest.mark.parametrize("kind", BRUTE)
def test_rows_equal_the_brute_force_over_any_number_of_threads(kind: str) -> None:
    reference = Reference(zoo.zoo()[kind])
    tok = tito.load_tokenizer(Tokenizer.from_str(zoo.zoo()[kind]))
    rows = sampled(reference, BRUTE[kind])
    ids, owners = [row.ids for row in rows], [row.owners for row in rows]
    batch = tito.provenance_batch(ids, tok, owners=owners, threads=3)
    assert not batch.errors
    for at, row in enumerate(rows):
        text, found = reference.decode(row.ids), batch[at]
        decoded = reference.follow(row.ids, text)
        assert decoded is not None
        assert found.text == text
        for name, expected in vars(provenance_of(text, decoded, row.owners)).items():
            assert getattr(found, name).tolist() == expected, (name, row)
        if at % 20 == 0:
            alone = tito.provenance(row.ids, tok, owners=row.owners)
            assert (alone.text, alone.runs, alone.shared_tokens) == (found.text, found.runs, found.shared_tokens)
            assert np.array_equal(alone.byte_token, found.byte_token)
    one = tito.provenance_batch(ids, tok, owners=owners, threads=1)
    for name in COLUMNS:
        assert np.array_equal(getattr(one, name), getattr(batch, name)), name


COLUMNS = (
    "text_bytes",
    "byte_offsets",
    "byte_owner",
    "byte_token",
    "char_offsets",
    "char_owner",
    "char_token",
    "char_byte",
)


def test_everything_held_is_within_24_bytes_for_each_byte_of_text() -> None:
    rows = [list(b"plain text, one byte a character. " * 10)] * 500
    batch = tito.provenance_batch(rows, BYTES, mask=[[1] * len(row) for row in rows])
    assert sum(getattr(batch, name).nbytes for name in COLUMNS) <= 24 * len(batch.text_bytes)


def test_columns_of_bytes_that_do_not_fit_together_are_refused() -> None:
    text, token = np.frombuffer(b"ab", np.uint8), np.zeros(2, np.int32)
    offsets, owner = np.array([0, 2]), np.empty(0, np.int16)
    assert characters(text, offsets, token, owner)["char_byte"].tolist() == [0, 1]
    for odd in ([0], [1, 2], [0, 3], [0, -1, 2], []):
        with pytest.raises(ValueError, match="fit together"):
            characters(text, np.array(odd, np.int64), token, owner)
    with pytest.raises(ValueError, match="fit together"):
        characters(text, offsets, token[:1], owner)


def test_batch_indexing() -> None:
    batch = tito.provenance_batch([[0], [1, 1]], TOK)
    assert batch[-1].text == "TT"
    assert [p.text for p in batch] == ["b", "TT"]
    assert repr(batch) == "<ProvenanceBatch 2 rows, 3 bytes>"
    with pytest.raises(IndexError, match="row 2 of a batch of 2 rows"):
        batch[2]
    with pytest.raises(TypeError, match="one at a time"):
        batch[:1]  # type: ignore[index]


def test_repr_is_short_and_rows_are_compared_as_objects() -> None:
    p, q = (tito.provenance([0, 1] * 5000, TOK, mask=[0, 1] * 5000) for _ in range(2))
    assert repr(p) == "<Provenance 10,000 characters, 10,000 bytes, 10,000 runs>"
    assert repr(tito.provenance([0], TOK)) == "<Provenance 1 character, 1 byte>"
    assert p != q
    assert p in [q, p]


def test_provenance_crosses_processes() -> None:
    batch = tito.provenance_batch([[0], [1, 1]], TOK, mask=[[0], [1, 0]])
    again = pickle.loads(pickle.dumps(batch))  # noqa: S301 - our own bytes
    assert [p.runs for p in again] == [p.runs for p in batch]
