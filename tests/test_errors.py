import pickle

import pytest

import tito_audit as tito
from tiny import straddler


@pytest.mark.parametrize("kind", [tito.TokenizerError, tito.RecordError, tito.DriftError, tito.SourceError])
def test_one_base_class(kind: type[Exception]) -> None:
    assert issubclass(kind, tito.TitoError)


def test_also_the_builtin_that_callers_expect() -> None:
    assert issubclass(tito.TokenizerError, ValueError)
    assert issubclass(tito.RecordError, ValueError)
    assert issubclass(tito.DriftError, AssertionError)
    assert issubclass(tito.TokenizerWarning, UserWarning)


def test_record_error_crosses_processes_with_its_place() -> None:
    error = tito.RecordError("m", code="TITO016", column="mask", row=3, position=1, value=-100, positions=(1, 2))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert str(again) == "m"
    assert vars(again) == vars(error)


def test_drift_error_crosses_processes_with_its_result() -> None:
    with pytest.raises(tito.DriftError) as caught:
        tito.assert_no_drift([2, 2], straddler())
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    assert str(again) == str(caught.value)
    assert again.result.reencoded_ids.tolist() == [4]


def test_drift_error_is_drawn_when_it_is_read_and_once() -> None:
    drawn: list[str] = []

    def draw() -> str:
        drawn.append("m")
        return "m"

    for read in (str, repr, pickle.dumps):
        error = tito.DriftError(draw)
        assert not drawn
        assert read(error) == read(error)
        assert (str(error), repr(error), error.args) == ("m", "DriftError('m')", ("m",))
        assert drawn == ["m"]
        drawn.clear()


def test_drift_error_without_a_result() -> None:
    error = tito.DriftError("m")
    assert error.result is None
    assert pickle.loads(pickle.dumps(error)).result is None  # noqa: S301 - our own bytes
