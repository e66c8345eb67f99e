"""Plant the faults of `faults.py` one by one in a copy of the sources, and see which tests notice.

Use: python tests/mutate.py [NAME ...]

A fault counts as caught by the first step that fails. The exit code is 1 if no step notices one, or if one cannot be
planted: its text is not there, or what it makes does not build.
`make mutants` runs it. The copy and what is compiled there stay in ``.cache/mutants``, so that each fault costs the
compilation of one crate.
"""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faults import FAULTS, Fault

REPOSITORY = Path(__file__).parents[1]
SCRATCH = REPOSITORY / ".cache" / "mutants"
SECONDS = 600
QUICK = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16", "CARGO_INCREMENTAL": "1"}
"""A fault is compiled once and run for a minute: no time for a good optimiser."""
EXTENSION = ("target/release/libtito_audit.so", "python/tito_audit/_core.abi3.so")
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
CARGO_TEST = ("cargo", "test", "--quiet")
BUILD = ("cargo", "build", "--release", "--quiet", "--features", "python")


@dataclass(frozen=True)
class Step:
    """Tests, and what builds them: no fault is one that does not build."""

    build: Sequence[str]
    tests: Sequence[str]


STEPS: Mapping[str, Step] = {
    "engines": Step(
        (*CARGO_TEST, "--lib", "--no-run"), (*CARGO_TEST, "--lib", "--", "fast::", "machine::", "pairs::", "sentence::")
    ),
    "differential": Step(BUILD, (*PYTEST, "tests/test_differential.py", "-k", "not real")),
    "equivalence": Step(
        BUILD,
        (*PYTEST, "tests/test_equivalence.py", "tests/test_one_string.py", "-k", "kind or families or one_string"),
    ),
    "cargo test": Step((*CARGO_TEST, "--no-run"), CARGO_TEST),
    "audit": Step(BUILD, (*PYTEST, "tests/test_audit.py", "tests/test_check.py", "tests/test_batch.py")),
}
"""What is run for each fault until something fails: the quickest and sharpest first."""


@dataclass(frozen=True)
class Ran:
    """A command that ended."""

    failed: bool
    output: str

    @property
    def first_failure(self) -> str:
        """The line that says what failed first, and how many more like it there are."""
        marks = ("FAILED ", "ERROR ", "---- ", "error", "E  ", "test result: FAILED", "panicked")
        found = ([line.strip() for line in self.output.splitlines() if line.startswith(mark)] for mark in marks)
        first, *more = next(filter(None, found), [self.output.strip().rpartition("\n")[2]])
        return first + f" and {len(more)} more" * bool(more)


@dataclass(frozen=True)
class Fate:
    """What became of a fault; no step has caught one that survived, or that could not be planted."""

    fault: Fault
    step: str | None
    why: str
    seconds: float

    def __str__(self) -> str:
        """One line of the report."""
        fate = f"caught by {self.step}" if self.step else "NOT PLANTED" if self.why else "SURVIVED"
        return f"{fate:24} {self.seconds:5.0f} s  {self.fault.name}" + f"  ({self.why})" * bool(self.why)


class Unbuilt(Exception):  # noqa: N818 - of a fault it says that there is none
    """The sources do not build."""


class Tree:
    """A copy of the sources in which faults are planted."""

    def __init__(self, source: Path, place: Path, run: Callable[[Sequence[str], Path], Ran]) -> None:
        self.place = place
        self._source = source
        self._run = run

    def refresh(self, files: Iterable[str]) -> None:
        """Copy what differs; what does not keeps its time, so that nothing else is compiled again."""
        for name in files:
            old, new = self._source / name, self.place / name
            if not new.exists() or old.read_bytes() != new.read_bytes():
                new.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(old, new)

    def fate(self, fault: Fault, steps: Mapping[str, Step]) -> Fate:
        """Plant a fault, run the steps, and take it out again."""
        path, started = self.place / fault.file, time.perf_counter()
        sound = path.read_text(encoding="utf-8")
        try:
            path.write_text(fault.planted(sound), encoding="utf-8")
            step, why = self.first_failure(steps)
        except (ValueError, Unbuilt) as error:
            step, why = None, str(error)
        finally:
            path.write_text(sound, encoding="utf-8")
        return Fate(fault, step, why, time.perf_counter() - started)

    def first_failure(self, steps: Mapping[str, Step]) -> tuple[str | None, str]:
        """The first step that fails, and how.

        Raises:
            Unbuilt: It does not build.
        """
        built = set[tuple[str, ...]]()
        for name, step in steps.items():
            if tuple(step.build) not in built:
                self._build(step.build)
                built.add(tuple(step.build))
            ran = self._run(step.tests, self.place)
            if ran.failed:
                return name, ran.first_failure
        return None, ""

    def _build(self, command: Sequence[str]) -> None:
        ran = self._run(command, self.place)
        if ran.failed:
            raise Unbuilt(f"it does not build: {ran.first_failure}")
        if command == BUILD:
            shutil.copyfile(*(self.place / name for name in EXTENSION))


def run(command: Sequence[str], place: Path) -> Ran:
    """Run a command in the copy; one that does not end is one that fails."""
    # A judgement must not depend on luck, and the package of the copy is the one that is imported.
    seeded = {"CI": "true", "PROPTEST_RNG_SEED": "1", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
    try:
        ended = subprocess.run(
            command,
            cwd=place,
            env={**os.environ, **QUICK, **seeded, "PYTHONPATH": str(place / "python")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(failed=True, output=f"no end after {SECONDS} s")
    return Ran(failed=ended.returncode != 0, output=ended.stdout.decode(errors="replace"))


def sources() -> list[str]:
    """The files of the repository as they are now, committed or not."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    listed = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name and (REPOSITORY / name).is_file()]


def chosen(names: Sequence[str]) -> Iterator[Fault]:
    """The faults that have one of the words in their name; all without a word."""
    return (fault for fault in FAULTS if not names or any(name in fault.name for name in names))


def main(names: Sequence[str]) -> int:
    """Report the fate of every fault."""
    tree = Tree(REPOSITORY, SCRATCH / "tree", run)
    tree.refresh(sources())
    cache = tree.place / ".cache"
    if not cache.exists():
        # What tests keep there is expensive, and the same for every fault.
        cache.symlink_to(REPOSITORY / ".cache", target_is_directory=True)
    step, why = tree.first_failure(STEPS)
    if step:
        print(f"without a fault {step} fails: {why}")
        return 2
    fates = []
    for fault in chosen(names):
        fates.append(tree.fate(fault, STEPS))
        print(fates[-1], flush=True)
    caught = Counter(fate.step for fate in fates if fate.step)
    print(f"{len(fates)} faults, {len(fates) - caught.total()} not caught; caught by: {dict(caught)}")
    return int(caught.total() < len(fates))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
