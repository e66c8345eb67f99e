"""A sketch tells a small difference exactly, or says that it cannot."""

from hypothesis import given
from hypothesis import strategies as st

from tito_audit.fuzzing.sketch import Sketch

TEXTS = st.lists(st.text(max_size=6), max_size=60)
FEW = st.lists(st.text(min_size=7, max_size=9), max_size=4, unique=True)


def stored(sketch: Sketch) -> Sketch:
    """What a file holds of a sketch."""
    return Sketch.from_text(sketch.count, sketch.to_text())


@given(TEXTS, FEW, FEW)
def test_a_few_members_are_named(shared: list[str], gone: list[str], come: list[str]) -> None:
    only_old, only_new = set(gone) - set(come), set(come) - set(gone)
    old, new = Sketch.of([*shared, *gone]), Sketch.of([*shared, *come])
    for one, candidates in ((old, []), (stored(old), [*gone, "unrelated", *shared])):
        found = one.difference(new, candidates)
        if found.unresolved:  # three of a handful in one bucket of a thousand
            assert len(only_old | only_new) > 2
        else:
            assert (set(found.gone), set(found.come)) == (only_old, only_new)
        assert bool(found) == bool(only_old | only_new)


@given(TEXTS)
def test_the_order_does_not_count(texts: list[str]) -> None:
    assert not Sketch.of(texts).difference(Sketch.of(texts[::-1]))
    assert not stored(Sketch.of(texts)).difference(Sketch.of(sorted(texts)))


def test_how_often_counts() -> None:
    found = stored(Sketch.of(["a", "a", "b"])).difference(Sketch.of(["a", "b"]), ["a"])
    assert found.gone == ("a",)


def test_what_is_no_candidate_is_not_guessed() -> None:
    found = stored(Sketch.of(["a", "gone"])).difference(Sketch.of(["a"]), ["b", "c"])
    assert (found.gone, found.come, found.unresolved) == ((), (), 1)


def test_very_different_sets_are_not_taken_apart() -> None:
    found = Sketch.of([f"a{n}" for n in range(5000)]).difference(Sketch.of([f"b{n}" for n in range(5000)]))
    assert not found.gone
    assert found.unresolved > 900
