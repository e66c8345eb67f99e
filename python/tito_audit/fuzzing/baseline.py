"""What is known of a tokenizer and accepted: a baseline lets a search fail on what is new, and say what changed.

It holds no rollout. A cause counts as known whatever its example is, and an entry that is not self-canonical by its id,
bytes and cause; what a tokenizer is (settings, added tokens, sketches of its merges and of its vocabulary) is there to
name a fault by what was changed, since the same drift may have many reasons.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tito_audit.fuzzing.baseline_shape import FuzzBaselineDict, ProfileDict
from tito_audit.fuzzing.changes import Change, changes
from tito_audit.fuzzing.entries import Entry
from tito_audit.fuzzing.profile import Added, Profile
from tito_audit.fuzzing.report import FuzzReport, OrdinaryToken
from tito_audit.fuzzing.search import Example
from tito_audit.fuzzing.sketch import Sketch
from tito_audit.stored_json import Kind, read_stored, shaped
from tito_audit.whole_file import write_whole

KIND = Kind(
    "tito_audit/fuzz-baseline",
    1,
    "baseline",
    " of a fuzzed tokenizer",
    "write one with fuzz tokenizer --write-baseline",
)

EntryKey = tuple[int, bytes, str]
"""What an entry is known by: id, bytes, cause."""


class News(NamedTuple):
    """What a search found that its baseline does not have.

    Attributes:
        changes: What is different about the tokenizer itself.
        causes: Examples of causes that the tokenizer did not have.
        entries: Entries that came back, and do not any more, or do for another cause.
        ordinary: Added tokens of ordinary text.
        gone_causes: Causes that were not found any more; a shorter search misses some.
        gone_entries: Ids that come back now, or are gone.
        found_later: Causes that another search found in what is the same tokenizer: no news about it.
    """

    changes: tuple[Change, ...]
    causes: tuple[Example, ...]
    entries: tuple[Entry, ...]
    ordinary: tuple[OrdinaryToken, ...]
    gone_causes: tuple[str, ...]
    gone_entries: tuple[int, ...]
    found_later: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether anything is over the bar."""
        return bool(self.changes or self.causes or self.entries or self.ordinary)

    @property
    def total(self) -> int:
        """Number of things that are new."""
        return len(self.changes) + len(self.causes) + len(self.entries) + len(self.ordinary)


@dataclass(frozen=True, slots=True)
class FuzzBaseline:
    """What a baseline holds.

    Attributes:
        profile: What the tokenizer is.
        causes: Cause to the ids of its smallest example.
        entries: Entries that are not self-canonical.
        ordinary: Id and content of added tokens whose text is ordinary.
    """

    profile: Profile
    causes: Mapping[str, tuple[int, ...]]
    entries: frozenset[EntryKey]
    ordinary: frozenset[tuple[int, str]]

    @classmethod
    def of(cls, report: FuzzReport) -> FuzzBaseline:
        """Take up all that a report has."""
        return cls(
            report.profile,
            {example.cause: example.ids for example in report.examples},
            frozenset(map(_key, report.entries)),
            frozenset((token.id, token.content) for token in report.ordinary),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FuzzBaseline:
        """Read a baseline.

        Raises:
            ReportError: It cannot be read, is no baseline of a fuzzed tokenizer, or a damaged one; the message names
                the file and, of a damaged one, the field.
        """
        data = shaped(read_stored(path, KIND), FuzzBaselineDict, KIND, source=os.fsdecode(path))
        return cls(
            _profile(data["tokenizer"]),
            {cause: tuple(ids) for cause, ids in data["causes"].items()},
            frozenset((id_, bytes.fromhex(digits), cause) for id_, digits, cause in data["entries"]),
            frozenset(data["ordinary"]),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline: one entry a line, and the same content always as the same bytes.

        Raises:
            OSError: It cannot be written.
        """
        profile = self.profile
        tokenizer: dict[str, Any] = {
            "sha256": profile.sha256,
            "fingerprint": dict(profile.fingerprint),
            "settings": dict(profile.settings),
            "merge_order": profile.merge_order,
            "merges": [profile.merges.count, profile.merges.to_text()],
            "vocabulary": [profile.vocabulary.count, profile.vocabulary.to_text()],
            "added": [[token.id, token.content, list(token.flags)] for token in profile.added],
        }
        entries = [[id_, data.hex(), cause] for id_, data, cause in sorted(self.entries)]
        text = {
            "format": json.dumps(KIND.format),
            "format_version": json.dumps(KIND.version),
            "causes": json.dumps({cause: list(ids) for cause, ids in self.causes.items()}),
            "ordinary": _lines(sorted(self.ordinary)),
            "entries": _lines(entries),
            "tokenizer": _members({name: json.dumps(value) for name, value in tokenizer.items()}, "    "),
        }
        write_whole(Path(path), _members(text, "  ") + "\n")

    def news(self, report: FuzzReport) -> News:
        """Tell what a report has that this baseline does not have, and the other way round."""
        anatomy = report.anatomy
        changed = changes(self.profile, report.profile, anatomy.pieces, anatomy.possible_merges())
        entries = tuple(entry for entry in report.entries if _key(entry) not in self.entries)
        ordinary = tuple(token for token in report.ordinary if (token.id, token.content) not in self.ordinary)
        unknown = tuple(example for example in report.examples if example.cause not in self.causes)
        # A tokenizer in which nothing differs has no new cause: it is the search that went another way.
        is_same = not changed and not entries and not ordinary
        found = {example.cause for example in report.examples}
        bad = {entry.id for entry in report.entries}
        return News(
            changes=changed,
            causes=() if is_same else unknown,
            entries=entries,
            ordinary=ordinary,
            gone_causes=tuple(cause for cause in self.causes if cause not in found),
            gone_entries=tuple(sorted({id_ for id_, _, _ in self.entries} - bad)),
            found_later=tuple(example.cause for example in unknown) if is_same else (),
        )


def _key(entry: Entry) -> EntryKey:
    return entry.id, entry.data, entry.cause


def _profile(data: ProfileDict) -> Profile:
    return Profile(
        sha256=data["sha256"],
        fingerprint={str(name): value for name, value in data["fingerprint"].items()},
        settings=dict(data["settings"]),
        added=tuple(Added(id_, content, tuple(flags)) for id_, content, flags in data["added"]),
        merges=Sketch.from_text(*data["merges"]),
        merge_order=data["merge_order"],
        vocabulary=Sketch.from_text(*data["vocabulary"]),
    )


def _lines(items: list[Any]) -> str:
    """A list with one item a line, so that a change shows in a diff."""
    return "[" + ",".join(f"\n    {json.dumps(item)}" for item in items) + ("\n  ]" if items else "]")


def _members(texts: Mapping[str, str], indent: str) -> str:
    inside = ",\n".join(f"{indent}{json.dumps(name)}: {text}" for name, text in texts.items())
    return f"{{\n{inside}\n{indent[:-2]}}}"
