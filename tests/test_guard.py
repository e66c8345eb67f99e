"""The guard: counts what an audit counts, does what its policies say, and never raises unless told to."""

import logging
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import tito_audit as tito
import zoo
from reference import Reference
from sequences import Sequences
from tiny import load, straddler
from tito_audit import guard as guards
from tito_audit import step as steps
from tito_audit.digests import digest
from tito_audit.judging import Judged
from tito_audit.policies import DRIFT, RECORD, TRAINED, Policies
from tito_audit.ragged import to_rows
from tito_audit.realised import compare_trained

A, AA, B = 0, 1, 2
TOK = load(["a", "aa", "b"], [("a", "a")])
IDS = st.lists(st.integers(0, 3), max_size=8)
ROW = st.tuples(IDS, IDS | st.none(), st.randoms(use_true_random=False))


def made_step(rows: list[Any]) -> dict[str, Any]:
    """Sampled rows, some trained as they are, some as they re-encode, some as others; masks of both."""
    sampled, trained, masks, train_masks = [], [], [], []
    for ids, other, random in rows:
        again = tito.check(ids, TOK).reencoded_ids.tolist()
        trained.append(random.choice([ids, again, ids[:2]]) if other is None else other)
        sampled.append(ids)
        masks.append([random.randint(0, 1) for _ in ids])
        train_masks.append([random.choice([0, 1]) for _ in trained[-1]])
    return {"rows": sampled, "train_ids": trained, "mask": masks, "train_mask": train_masks}


@given(st.lists(ROW, min_size=1, max_size=6))
def test_it_counts_what_an_audit_counts(rows: list[Any]) -> None:
    given_step = made_step(rows)
    guard = tito.DriftGuard(TOK, policy="log")
    guard.observe_batch(**given_step)
    names = {"rows": "token_ids"}
    records = [
        {names.get(name, name): cells[place] for name, cells in given_step.items()} for place in range(len(rows))
    ]
    audited = tito.audit(records, TOK).as_metrics()
    ours = guard.metrics()
    # What is wrong with a record beyond ids and masks is no question of the guard.
    asked = {code for code in audited if code.startswith("tito/code/") and code[-7:] not in {*DRIFT, *TRAINED, *RECORD}}
    for name in audited.keys() - asked - {"tito/check_ms", "tito/code/TITO019"}:
        assert ours[name] == audited[name], name


@given(st.lists(ROW, min_size=1, max_size=6), st.sampled_from(["TITO110", "TITO306"]))
def test_a_mask_loses_only_tokens_without_a_correct_value(rows: list[Any], code: str) -> None:
    given_step = made_step(rows)
    guard = tito.DriftGuard(TOK, policy="log", rules={code: "mask"})
    seen = guard.observe_batch(**given_step)
    assert seen.keep.tolist() == list(range(len(rows)))
    assert seen.train_mask is not None
    flat = {name: np.concatenate([np.array(row, dtype=np.int64) for row in given_step[name]]) for name in given_step}
    compared = compare_trained(
        to_rows(given_step["rows"]),
        to_rows(given_step["train_ids"]),
        TOK,
        mask=flat["mask"].astype(np.uint8),
        train_mask=flat["train_mask"].astype(np.uint8),
    )
    for place, before in enumerate(given_step["train_mask"]):
        after = np.asarray(seen.train_mask[place])
        gone = np.flatnonzero(after != before)
        assert gone.tolist() == seen.removed.get(place, np.zeros(0, dtype=np.int64)).tolist()
        assert not after[gone].any()
        row = compared.row(place)
        wrong: set[int] = set()
        if code == "TITO110":
            for span in row.spans:
                wrong |= set(range(span.trained_start, span.trained_stop))
        else:
            wrong |= {at for at in row.wrong_positions if before[at]}
        lost = set(gone.tolist())
        assert {at for at in wrong if before[at]} <= lost
        extra = lost - wrong
        assert not (extra if code == "TITO110" else set())
        assert len(extra) <= (row.straddling or 0)
    total = sum(len(positions) for positions in seen.removed.values())
    assert guard.metrics()["tito/tokens_masked"] == total


def test_the_token_that_straddles_is_masked_and_its_neighbours_are_not() -> None:
    tok = straddler()  # `a a` merges across the edge between a tool's result and the answer
    sampled, mask = [1, 2, 2, 3, 0], [0, 0, 1, 1, 1]
    trained = tito.check(sampled, tok, mask=mask).reencoded_ids.tolist()
    policies: dict[str, Any]
    for policies in ({"policy": "mask"}, {"policy": "log", "rules": {"TITO306": "mask"}}):
        guard = tito.DriftGuard(tok, **policies)
        seen = guard.observe(sampled, train_ids=trained, mask=mask, train_mask=np.array([0, 0.5, 0.25, 1.0]))
        assert seen.train_mask is not None
        assert seen.train_mask[0].tolist() == [0, 0, 0.25, 1.0]
        assert seen.removed[0].tolist() == [1]


def test_drop_gives_the_rows_to_keep() -> None:
    guard = tito.DriftGuard(TOK, policy="drop")
    seen = guard.observe_batch([[A, A], [AA], [B]], train_ids=[[AA], [AA], [A]])
    assert seen.keep.tolist() == [1]
    assert seen.codes["TITO110"].tolist() == [0, 2]
    assert guard.metrics()["tito/rows_dropped"] == 2
    only = tito.DriftGuard(TOK, policy="log", drift="drop")
    assert only.observe_batch([[A, A], [AA]], train_ids=[[AA], [B]]).keep.tolist() == [1]


def test_digests_stand_for_sampled_ids_on_another_machine() -> None:
    sampled = [[A, A, B], [AA], [2**70]]
    digests = [tito.DriftGuard.digest(ids) for ids in sampled]
    guard = tito.DriftGuard(TOK, policy="hash")
    assert guard.observe_batch(None, train_ids=sampled, digests=digests).keep.tolist() == [0, 1, 2]
    with pytest.warns(tito.DriftWarning, match="TITO110 training-ids-differ in row 0 and 1 more of 3 rows"):
        seen = guard.observe_batch(None, train_ids=[[AA, B], [AA], [2**71]], digests=digests)
    assert seen.keep.tolist() == [1]
    assert guard.metrics()["tito/realised_row_rate"] == 2 / 6
    assert tito.DriftGuard(TOK, policy="mask").observe(None, train_ids=[B], digest=digests[0]).keep.tolist() == []
    with pytest.raises(tito.DriftError, match="row 0 of 1 row: TITO110"):
        tito.DriftGuard(TOK, policy="raise").observe(None, train_ids=[B], digest=digests[0])


@given(IDS, IDS)
def test_a_digest_is_of_the_integers_alone(one: list[int], other: list[int]) -> None:
    assert (digest(one) == digest(other)) == (one == other)
    for dtype in (np.int64, np.int32, np.uint32, np.uint8, ">i8"):
        assert digest(np.array(one, dtype=dtype)) == digest(tuple(one))


def test_raise_shows_the_whole_finding_once_everything_is_counted() -> None:
    guard = tito.DriftGuard(TOK, policy="raise")
    with pytest.raises(tito.DriftError, match="row 1 of 3 rows: the trained ids are not the sampled ones") as caught:
        guard.observe_batch([[B], [A, A], [A]], train_ids=[[B], [AA], [B]])
    assert caught.value.result is not None
    assert caught.value.result.realised_kind == "retokenized"
    assert guard.metrics()["tito/code/TITO110"] == 2
    with pytest.raises(tito.DriftError, match="TITO101 merge"):
        tito.DriftGuard(TOK, drift="raise").observe([A, A])
    with pytest.raises(tito.DriftError, match="TITO306"):
        guard.observe([B], train_ids=[B], mask=[0], train_mask=[1])
    with pytest.raises(tito.DriftError, match="TITO005"):
        guard.observe([9])
    with pytest.raises(tito.RecordError, match="row 0: rows: 'x' at position 1"):
        guard.observe([B, "x"])
    with pytest.raises(tito.RecordError, match="train_ids has 1 row, rows has 2"):
        guard.observe_batch([[B], [B]], train_ids=[[B]])


def test_artefacts_and_notes_are_no_drift() -> None:
    from tiny import sentence_piece  # noqa: PLC0415 - beside its use

    tok = sentence_piece()
    guard = tito.DriftGuard(tok, policy="raise", drift="raise")
    seen = guard.observe([4, 2])
    assert tito.check([4, 2], tok).artefact
    assert seen.codes.keys() == {"TITO207"}
    assert guard.observe([2], mask=[0]).codes.keys() == {"TITO004"}


HOSTILE: list[dict[str, Any]] = [
    {"rows": None},
    {"rows": 3},
    {"rows": "text"},
    {"rows": [1, 2]},
    {"rows": [["x"], [B]]},
    {"rows": [[1.5], None, "b", {}, [B]]},
    {"rows": [[B]], "train_ids": [[B], [B]]},
    {"rows": [[B]], "train_ids": [None]},
    {"rows": [[B]], "train_mask": [[1]]},
    {"rows": [[B]], "mask": [[1, 1]]},
    {"rows": [[B]], "mask": [["x"]]},
    {"rows": [[B]], "train_ids": [[B]], "train_mask": [[-100]]},
    {"rows": [[B]], "digests": [3], "train_ids": [[B]]},
    {"rows": [[B]], "digests": "abc", "train_ids": [[B]]},
    {"rows": (np.array([1, 2]), np.array([0, 5]))},
    {"rows": [[2**80, -5, 10**9]], "train_ids": [[2**81]]},
    {"rows": [[B] for _ in range(3)], "train_ids": object()},
    {"rows": iter([])},
    {"rows": np.zeros((0, 4), dtype=int)},
    {"rows": [tito.RolloutBuffer(), [B]]},
]


@pytest.mark.parametrize("policy", ["warn", "log", "mask", "drop", "hash"])
@pytest.mark.parametrize("hostile", HOSTILE, ids=repr)
@pytest.mark.filterwarnings("ignore::tito_audit.errors.DriftWarning")
def test_it_never_raises_unless_told_to(policy: Any, hostile: dict[str, Any]) -> None:
    guard = tito.DriftGuard(TOK, policy=policy)
    seen = guard.observe_batch(**hostile)
    assert len(seen.keep) <= seen.rows
    assert seen.codes or len(seen.keep) == seen.rows
    metrics = guard.metrics()
    assert metrics["tito/steps"] == 1
    assert metrics["tito/rows"] == seen.rows == metrics["tito/rows_checked"] + metrics["tito/rows_not_checked"]
    assert all(value == value for value in metrics.values())  # noqa: PLR0124 - that is what NaN is


def test_one_bad_row_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    guard = tito.DriftGuard(TOK, policy="log")
    with caplog.at_level(logging.INFO, logger="tito_audit"):
        seen = guard.observe_batch([[A, A], [0.5], [B], [A, A]], mask=[[0, 1], [1], [1, 1], [1, 1]])
    assert seen.observed.tolist() == [0, 3]
    assert {code: rows.tolist() for code, rows in seen.codes.items()} == {
        "TITO001": [1],
        "TITO002": [2],
        "TITO101": [0, 3],
        "TITO301": [0],
    }
    assert len(caplog.records) == 1
    assert "row 1: rows: 0.5 at position 0 is no integer" in caplog.text
    assert guard.metrics()["tito/rows_not_checked"] == 2


@pytest.mark.parametrize(
    ("options", "step", "level"),
    [
        ({"policy": "log"}, {"rows": [[A, A]]}, logging.INFO),
        ({"policy": "log"}, {"rows": [[A, A]], "train_ids": [[AA]]}, logging.WARNING),
        ({"policy": "log"}, {"rows": [[9]]}, logging.WARNING),
        ({"policy": "drop"}, {"rows": [[9]]}, logging.WARNING),
        ({"drift": "drop"}, {"rows": [[A, A]]}, logging.WARNING),
    ],
)
def test_only_what_costs_no_row_is_information(
    options: dict[str, Any], step: dict[str, Any], level: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="tito_audit"):
        tito.DriftGuard(TOK, **options).observe_batch(**step)
    assert max(record.levelno for record in caplog.records) == level


def test_a_failure_inside_is_logged_counted_and_keeps_all_rows(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(steps, "Judged", failing)
    guard = tito.DriftGuard(TOK, policy="drop")
    assert guard.observe_batch([[A, A], [B]]).keep.tolist() == [0, 1]
    assert guard.metrics()["tito/guard_failures"] == 1
    assert "ZeroDivisionError" in caplog.text


def test_a_row_that_the_reference_cannot_encode_is_not_checked() -> None:
    from tiny import refusing  # noqa: PLC0415 - beside its use

    guard = tito.DriftGuard(refusing(), policy="log")
    guard.observe_batch([[0, 1], [0]], train_ids=[[1], [0]])
    assert guard.metrics()["tito/rows_not_checked"] == 1


def test_buffers_bring_their_masks() -> None:
    buffer = tito.RolloutBuffer()
    buffer.add_prompt([A])
    buffer.add_sampled([A, B], [-0.1, -0.1])
    guard = tito.DriftGuard(TOK)
    seen = guard.observe(buffer)
    assert seen.codes.keys() == {"TITO101", "TITO301"}
    assert guard.observe_batch([buffer, buffer], train_ids=[buffer.ids] * 2).observed.tolist() == [0, 1]


@pytest.mark.parametrize("form", ["lists", "arrays", "pair", "matrix"])
def test_every_container_gives_the_same(form: str) -> None:
    rows, trained = np.array([[A, A, B], [AA, B, B]]), np.array([[A, A, B], [AA, B, A]])
    mask = np.array([[0, 1, 1], [1, 1, 1]], dtype=np.uint8)
    forms: dict[str, Any] = {
        "lists": lambda each: each.tolist(),
        "arrays": list,
        "pair": lambda each: (each.ravel(), np.array([0, 3, 6])),
        "matrix": lambda each: each,
    }
    made = forms[form]
    for budget in (None, 60.0):
        guard = tito.DriftGuard(TOK, policy="mask", budget=budget)
        seen = guard.observe_batch(made(rows), train_ids=made(trained), mask=made(mask), train_mask=made(mask))
        assert {row: positions.tolist() for row, positions in seen.removed.items()} == {1: [2]}
        assert seen.train_mask is not None
        assert [np.asarray(each).tolist() for each in seen.train_mask] == [[0, 1, 1], [1, 1, 0]]
    assert mask.tolist() == [[0, 1, 1], [1, 1, 1]], "what was handed over stays as it is"


class Clock:
    """Time passes while a row is judged, and at no other moment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: list[float]) -> None:
        self.now, self.rows, self.seconds = 0.0, 0, seconds
        monkeypatch.setattr(guards, "time", SimpleNamespace(perf_counter=lambda: self.now))
        monkeypatch.setattr(steps, "Judged", self.judged)

    def judged(self, *arguments: Any) -> Judged:
        self.now += self.seconds[self.rows % len(self.seconds)]
        self.rows += 1
        return Judged(*arguments)


@pytest.mark.parametrize("budget", [0.0, 0.5, 3.0, 10.0, 1e9])
def test_a_step_ends_after_the_row_in_which_the_budget_ran_out(budget: float, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = np.random.default_rng(0).exponential(1.0, 997).tolist()
    clock = Clock(monkeypatch, seconds)
    guard = tito.DriftGuard(TOK, budget=budget)
    looked: list[int] = []
    for _ in range(100):
        before, first = clock.now, clock.rows
        seen = guard.observe_batch([[B]] * 13)
        spent = clock.now - before
        last = seconds[(clock.rows - 1) % len(seconds)]
        assert spent - last < budget or clock.rows - first == 1 or np.isclose(spent - last, budget)
        assert spent >= budget or len(seen.observed) == 13
        assert seen.keep.tolist() == list(range(13))
        looked += seen.observed.tolist()
    assert set(looked) == set(range(13)), "no row is left out for ever"
    counts = np.bincount(looked, minlength=13)
    assert counts.max() - counts.min() <= 1, "nor looked at less often than another"
    metrics = guard.metrics()
    assert metrics["tito/rows_over_budget"] == metrics["tito/rows_not_checked"] == 1300 - len(looked)


def test_every_and_fraction() -> None:
    guard = tito.DriftGuard(TOK, every=2, fraction=0.25)
    sizes = [len(guard.observe_batch([[B]] * 8).observed) for _ in range(6)]
    assert sizes == [2, 0, 2, 0, 2, 0]
    metrics = guard.metrics(prefix="")
    assert (metrics["rows"], metrics["rows_checked"], metrics["rows_not_checked"]) == (48, 6, 42)
    assert metrics["rows_over_budget"] == 0


def test_metrics_are_flat_and_their_names_stay() -> None:
    guard = tito.DriftGuard(TOK)
    always = set(guard.metrics())
    guard.observe_batch([[A, A]], mask=[[1, 1]])
    found = guard.metrics(reset=True)
    assert always <= set(found)
    assert all(type(name) is str and type(value) in {int, float} for name, value in found.items())
    assert guard.metrics()["tito/rows"] == 0
    assert set(guard.metrics()) == always
    assert repr(guard) == "<DriftGuard 0 rows, 0 checked, 0 drifted>"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"policy": "explode"}, ValueError),
        ({"drift": "mask"}, ValueError),
        ({"drift": "hash"}, ValueError),
        ({"rules": {"TITO101": "mask"}}, ValueError),
        ({"rules": {"TITO999": "log"}}, tito.TitoError),
        ({"budget": -1}, ValueError),
        ({"budget": float("nan")}, ValueError),
        ({"budget": "1"}, TypeError),
        ({"budget": True}, TypeError),
        ({"every": 0}, ValueError),
        ({"fraction": 0}, ValueError),
    ],
)
def test_options_without_a_meaning(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        tito.DriftGuard(TOK, **options)
    with pytest.raises(tito.TokenizerError):
        tito.DriftGuard("tokenizer.json")  # type: ignore[arg-type]


def test_the_policies_that_nobody_chose() -> None:
    policies = Policies("mask", "log", {"merge": "raise", "TITO306": "drop"})
    assert policies["TITO110"] == "mask"
    assert policies["TITO306"] == "drop"
    assert policies["TITO001"] == "warn"
    assert policies["TITO101"] == "raise"
    assert policies["TITO102"] == policies["TITO004"] == policies["TITO207"] == "log"


def test_a_pickled_guard_goes_on() -> None:
    guard = tito.DriftGuard(TOK, policy="drop", every=2)
    guard.observe([B])
    again: tito.DriftGuard = pickle.loads(pickle.dumps(guard))  # noqa: S301 - our own
    assert again.metrics() == guard.metrics()
    assert not len(again.observe([A]).observed)
    assert again.observe([A], train_ids=[B]).keep.tolist() == []


def test_a_step_of_many_rows_is_what_its_rows_are_one_by_one() -> None:
    source = zoo.zoo()["bytelevel_gpt2"]
    tok = tito.load_tokenizer(Tokenizer.from_str(source))
    rows = [row.ids for row in Sequences(Reference(source).wheel, seed=3).rows(120)]
    rng = np.random.default_rng(1)
    masks = [rng.integers(0, 2, len(row)) for row in rows]
    batch = tito.check_batch(rows, tok, recheck=0)
    trained: list[Any] = [batch[i].reencoded_ids if i % 3 else rows[i] for i in range(len(rows))]
    train_masks = [rng.integers(0, 2, len(row)) for row in trained]
    options: dict[str, Any] = {"policy": "mask", "rules": {"TITO005": "log"}}
    whole, single = tito.DriftGuard(tok, **options), tito.DriftGuard(tok, budget=600.0, **options)
    seen = [
        guard.observe_batch(rows, train_ids=trained, mask=masks, train_mask=train_masks) for guard in (whole, single)
    ]
    assert {c: r.tolist() for c, r in seen[0].codes.items()} == {c: r.tolist() for c, r in seen[1].codes.items()}
    assert {r: p.tolist() for r, p in seen[0].removed.items()} == {r: p.tolist() for r, p in seen[1].removed.items()}
    ours, theirs = whole.metrics(), single.metrics()
    assert {n: v for n, v in ours.items() if "ms" not in n} == {n: v for n, v in theirs.items() if "ms" not in n}
