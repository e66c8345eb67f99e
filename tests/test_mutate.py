"""The harness of deliberate faults, on sources whose build and tests are made up; and the list of faults itself."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from faults import FAULTS, Fault
from mutate import BUILD, EXTENSION, REPOSITORY, STEPS, Ran, Step, Tree, Unbuilt, chosen

MADE_UP = {
    "first": Step(("compile",), ("first",)),
    "second": Step(BUILD, ("second",)),
    "third": Step(BUILD, ("third",)),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_can_be_planted(fault: Fault) -> None:
    sound = (REPOSITORY / fault.file).read_text(encoding="utf-8")
    assert fault.planted(sound) != sound


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert list(chosen(())) == list(FAULTS)
    assert list(chosen((FAULTS[0].name,))) == [FAULTS[0]]


class World:
    """A tree of one file that builds unless it says otherwise; each step fails on a word in the file."""

    def __init__(self, folder: Path) -> None:
        self.source, self.ran = folder / "source", list[str]()
        (self.source / "rust").mkdir(parents=True)
        (self.source / "rust" / "a.rs").write_text("one two three")
        self.tree = Tree(self.source, folder / "copy", self.run)
        self.tree.refresh(["rust/a.rs"])
        for name in EXTENSION:
            (self.tree.place / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree.place / name).write_text("old")

    def run(self, command: Sequence[str], place: Path) -> Ran:
        text = (place / "rust" / "a.rs").read_text()
        self.ran.append(command[0])
        if command[0] in {"compile", BUILD[0]}:
            if command == BUILD:
                (place / EXTENSION[0]).write_text(text)
            return Ran(failed="rubbish" in text, output="error: rubbish")
        # The first step has what it compiles, the others what the extension was built from.
        built = text if command[0] == "first" else (place / EXTENSION[1]).read_text()
        word = {"first": "one", "second": "two", "third": "three"}[command[0]]
        return Ran(failed=word not in built, output="...\nFAILED here\nFAILED there\nend")


@pytest.mark.parametrize(("old", "step", "ran"), [("one", "first", 2), ("two", "second", 4), ("three", "third", 5)])
def test_a_fault_is_caught_by_the_first_step_that_fails(tmp_path: Path, old: str, step: str, ran: int) -> None:
    world = World(tmp_path)
    assert world.tree.first_failure(MADE_UP) == (None, "")
    world.ran.clear()
    fate = world.tree.fate(Fault("made", "rust/a.rs", old, "x"), MADE_UP)
    assert (fate.step, len(world.ran)) == (step, ran)
    assert f"caught by {step} " in str(fate)
    assert "FAILED here and 1 more" in str(fate)
    assert (world.tree.place / "rust" / "a.rs").read_text() == "one two three"


def test_a_fault_that_no_step_notices_has_survived(tmp_path: Path) -> None:
    fate = World(tmp_path).tree.fate(Fault("made", "rust/a.rs", " three", " three four"), MADE_UP)
    assert (fate.step, fate.why) == (None, "")
    assert str(fate).startswith("SURVIVED ")


@pytest.mark.parametrize(("old", "why"), [("one", "it does not build: error: rubbish"), ("four", "0 times, not once")])
def test_a_fault_that_cannot_be_planted_shows_nothing(tmp_path: Path, old: str, why: str) -> None:
    world = World(tmp_path)
    fate = world.tree.fate(Fault("made", "rust/a.rs", old, "rubbish"), MADE_UP)
    assert fate.step is None
    assert why in fate.why
    assert str(fate).startswith("NOT PLANTED ")
    assert (world.tree.place / "rust" / "a.rs").read_text() == "one two three"


def test_sources_that_do_not_build_are_no_failure_of_a_step(tmp_path: Path) -> None:
    world = World(tmp_path)
    (world.tree.place / "rust" / "a.rs").write_text("rubbish")
    with pytest.raises(Unbuilt):
        world.tree.first_failure(MADE_UP)


def test_every_step_names_tests_that_exist() -> None:
    files = [word for step in STEPS.values() for word in step.tests if word.startswith("tests/")]
    assert files
    assert all((REPOSITORY / name).is_file() for name in files)


@pytest.mark.parametrize("old", ["four", "e", ""])
def test_a_fault_that_is_out_of_date_is_refused(old: str) -> None:
    with pytest.raises(ValueError, match=r"rust/a\.rs holds the text of 'made' \d+ times"):
        Fault("made", "rust/a.rs", old, "x").planted("one two three")


def test_what_has_not_changed_keeps_its_time(tmp_path: Path) -> None:
    world = World(tmp_path)
    copy = world.tree.place / "rust" / "a.rs"
    before = copy.stat().st_mtime_ns
    world.tree.refresh(["rust/a.rs"])
    assert copy.stat().st_mtime_ns == before
    (world.source / "rust" / "a.rs").write_text("other")
    world.tree.refresh(["rust/a.rs"])
    assert copy.read_text() == "other"
