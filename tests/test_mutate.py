"""The harness of deliberate faults, on sources whose build and tests are made up; and the list of faults itself."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from faults import FAULTS, Fault
from mutate import BUILD, EXTENSION, REPOSITORY, Ran, Tree, chosen

STEPS = {"first": ("first",), "second": ("second",)}


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
        if command == BUILD:
            (place / EXTENSION[0]).write_text(text)
            return Ran(failed="rubbish" in text, output="error: rubbish")
        built = (place / EXTENSION[1]).read_text()
        return Ran(failed={"first": "one", "second": "two"}[command[0]] not in built, output="...\nFAILED here\nend")


@pytest.mark.parametrize(("old", "step", "ran"), [("one", "first", 2), ("two", "second", 3), ("three", None, 3)])
def test_a_fault_is_caught_by_the_first_step_that_fails(tmp_path: Path, old: str, step: str | None, ran: int) -> None:
    world = World(tmp_path)
    assert world.tree.first_failure(STEPS) == (None, "")
    world.ran.clear()
    fate = world.tree.fate(Fault("made", "rust/a.rs", old, "x"), STEPS)
    assert (fate.step, len(world.ran)) == (step, ran)
    assert ("SURVIVED" in str(fate)) == (step is None)
    assert ("FAILED here" in str(fate)) == (step is not None)
    assert (world.tree.place / "rust" / "a.rs").read_text() == "one two three"


def test_a_fault_that_does_not_build_shows_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(RuntimeError, match="rubbish"):
        world.tree.fate(Fault("made", "rust/a.rs", "one", "rubbish"), STEPS)
    assert (world.tree.place / "rust" / "a.rs").read_text() == "one two three"


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
