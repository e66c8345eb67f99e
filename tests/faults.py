"""Deliberate faults of the core: each must make some test fail. `mutate.py` plants them one by one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One fault: a text that a file holds exactly once, and what stands in its place."""

    name: str
    file: str
    old: str
    new: str

    def planted(self, source: str) -> str:
        """The file with the fault in it.

        Raises:
            ValueError: The file does not hold the text, or more than once: the fault is out of date.
        """
        if source.count(self.old) != 1:
            raise ValueError(f"{self.file} holds the text of {self.name!r} {source.count(self.old)} times, not once")
        return source.replace(self.old, self.new)


FAULTS = (
    Fault(
        "a text that ends inside a character is broken in its interior",
        "rust/audit.rs",
        "(false, true) => Flags::TAIL,",
        "(false, true) => Flags::INTERIOR,",
    ),
    Fault(
        "a span that ends at the join lies across it",
        "rust/audit.rs",
        "tokens.start < join && join < tokens.end ||",
        "tokens.start < join && join <= tokens.end ||",
    ),
    Fault(
        "the owners are the mask even where there are others",
        "rust/audit.rs",
        "let owners = row.owners.or(row.mask);",
        "let owners = row.mask.or(row.owners);",
    ),
)
