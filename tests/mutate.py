"""Plant the faults of `faults.py` one by one in a copy of the sources, and see which tests notice.

Use: python tests/mutate.py [NAME ...]

A fault counts as caught by the first step that fails; one that no step notices has survived, and the exit code is 1.
`make mutants` runs it. The copy and what is compiled there stay in ``.cache/mutants``, so that each fault costs the
compilation of one crate.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faults import FAULTS, Fault

REPOSITORY = Path(__file__).parents[1]
SCRATCH = REPOSITORY / ".cache" / "mutants"
SECONDS = 1200
QUICK = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16", "CARGO_INCREMENTAL": "1"}
"""A fault is compiled once and run for a minute: no time for a good optimiser."""
EXTENSION = ("target/release/libtito_audit.so", "python/tito_audit/_core.abi3.so")
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
BUILD = ("cargo", "build", "--release", "--quiet", "--features", "python")
STEPS: Mapping[str, Sequence[str]] = {
    "differential": (*PYTEST, "tests/test_differential.py", "-k", "not real"),
    "equivalence": (*PYTEST, "tests/test_equivalence.py", "-k", "kind and not real"),
    "cargo test": ("cargo", "test", "--quiet"),
    "audit": (*PYTEST, "tests/test_audit.py", "tests/test_check.py", "tests/test_batch.py"),
}
"""What is run for each fault until something fails: the quickest and sharpest first."""


@dataclass(frozen=True)
class Ran:
    """A command that ended."""

    failed: bool
    output: str

    @property
    def first_failure(self) -> str:
        """The line that says what failed."""
        marks = ("FAILED ", "ERROR ", "error", "E  ", "test result: FAILED", "panicked")
        found = (line.strip() for mark in marks for line in self.output.splitlines() if line.startswith(mark))
        return next(found, self.output.strip().rpartition("\n")[2])


@dataclass(frozen=True)
class Fate:
    """What became of a fault; no step has caught one that survived."""

    fault: Fault
    step: str | None
    why: str
    seconds: float

    def __str__(self) -> str:
        """One line of the report."""
        fate = "SURVIVED" if self.step is None else f"caught by {self.step}"
        return f"{fate:24} {self.seconds:5.0f} s  {self.fault.name}" + f"  ({self.why})" * bool(self.why)


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

    def fate(self, fault: Fault, steps: Mapping[str, Sequence[str]]) -> Fate:
        """Plant a fault, build, run the steps, and take it out again."""
        path, started = self.place / fault.file, time.perf_counter()
        sound = path.read_text(encoding="utf-8")
        path.write_text(fault.planted(sound), encoding="utf-8")
        try:
            step, why = self.first_failure(steps)
        finally:
            path.write_text(sound, encoding="utf-8")
        return Fate(fault, step, why, time.perf_counter() - started)

    def first_failure(self, steps: Mapping[str, Sequence[str]]) -> tuple[str | None, str]:
        """The first step that fails, and how.

        Raises:
            RuntimeError: It does not build.
        """
        built = self._run(BUILD, self.place)
        if built.failed:
            raise RuntimeError(f"it does not build:\n{built.output}")
        shutil.copyfile(*(self.place / name for name in EXTENSION))
        for name, command in steps.items():
            ran = self._run(command, self.place)
            if ran.failed:
                return name, ran.first_failure
        return None, ""


def run(command: Sequence[str], place: Path) -> Ran:
    """Run a command in the copy; one that does not end is one that fails."""
    # A judgement must not depend on luck, and the package of the copy is the one that is imported.
    seeded = {"CI": "true", "PROPTEST_RNG_SEED": "1", "PYTHONPATH": str(place / "python")}
    try:
        ended = subprocess.run(
            command,
            cwd=place,
            env={**os.environ, **QUICK, **seeded},
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
    if step is not None:
        print(f"without a fault {step} fails: {why}")
        return 2
    fates = []
    for fault in chosen(names):
        fates.append(tree.fate(fault, STEPS))
        print(fates[-1], flush=True)
    survived = sum(fate.step is None for fate in fates)
    print(f"{len(fates)} faults, {survived} survived")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
