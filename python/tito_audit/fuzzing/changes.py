"""What differs between two tokenizers, said by component: which merge, which setting and where in it, which token."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tito_audit.fuzzing.profile import Added, Profile, Setting, entry_of, merge_of
from tito_audit.fuzzing.sketch import Difference
from tito_audit.loading.fingerprint import COMPONENTS, differing
from tito_audit.printable import counted, inert, piece

_AROUND = 12
"""Characters of a setting shown on each side of where two differ."""
_WHOLE = 60
"""Characters of a setting up to which it is shown whole."""


class Change(NamedTuple):
    """One difference.

    Attributes:
        component: The component of the fingerprint that it is in.
        what: The difference in words, printable.
        ids: Ids that it is about: the product of a merge, an added token.
    """

    component: str
    what: str
    ids: tuple[int, ...] = ()


def changes(
    old: Profile, new: Profile, pieces: Mapping[str, int], possible_merges: Iterable[str] = ()
) -> tuple[Change, ...]:
    """Tell two tokenizers apart.

    Every component whose meaning differs has one change at least. Where a fingerprint is missing, which tells what
    means the same, every other spelling of a setting counts. The new tokenizer is at hand; of the old one it may be
    that only the profile was kept.

    Args:
        old: The tokenizer as it was.
        new: The tokenizer as it is.
        pieces: Piece to id in the vocabulary of the new one.
        possible_merges: Merges that the old one may have had.
    """
    found: list[Change] = []
    is_told = bool(old.fingerprint and new.fingerprint)
    for component in differing(old.fingerprint, new.fingerprint) if is_told else COMPONENTS[:-1]:
        if component == "added_tokens":
            own = list(_added(old.added, new.added))
        elif component == "model":
            own = [*_merges(old, new, pieces, possible_merges), *_vocabulary(old, new), *_settings(component, old, new)]
        elif component == "probe":
            if found:  # it tells nothing that the component does not
                continue
            own = [Change("probe", "the same text is encoded otherwise, and no setting says why")]
        else:
            own = list(_settings(component, old, new))
        found += own or ([Change(component, "it differs in what it means")] if is_told else [])
    return tuple(found)


def _added(old: Iterable[Added], new: Iterable[Added]) -> Iterator[Change]:
    before, after = {token.id: token for token in old}, {token.id: token for token in new}
    for id_ in sorted({*before, *after}):
        one, other = before.get(id_), after.get(id_)
        if one is None and other is not None:
            flags = f" ({', '.join(other.flags)})" if other.flags else ""
            yield Change("added_tokens", f"token {_text(other.content)} added as id {id_}{flags}", (id_,))
        elif one is not None and other is None:
            yield Change("added_tokens", f"token {_text(one.content)}, id {id_}, is gone", (id_,))
        elif one is not None and other is not None and one != other:
            yield Change("added_tokens", f"token {id_}: {_token(one)} -> {_token(other)}", (id_,))


def _token(token: Added) -> str:
    return " ".join((_text(token.content), *token.flags))


def _merges(old: Profile, new: Profile, pieces: Mapping[str, int], possible: Iterable[str]) -> Iterator[Change]:
    between = old.merges.difference(new.merges, possible)
    for words, texts in (("dropped", between.gone), ("added", between.come)):
        for left, right in map(merge_of, texts):
            product = pieces.get(left + right)
            made = "which is in the vocabulary no more" if product is None else f"id {product}"
            ids = () if product is None else (product,)
            yield Change(
                "model", f"merge {words}: {_text(left)} + {_text(right)} -> {_text(left + right)}, {made}", ids
            )
    if between.unresolved:
        yield Change("model", _unresolved("merge", old.merges.count, new.merges.count, between))
    elif not between and old.merge_order != new.merge_order:
        yield Change("model", "the merges are the same ones in another order")


def _vocabulary(old: Profile, new: Profile) -> Iterator[Change]:
    between = old.vocabulary.difference(new.vocabulary)
    for words, texts in (("is gone", between.gone), ("is new", between.come)):
        for id_, text in map(entry_of, texts):
            yield Change("model", f"vocabulary entry {_text(text)}, id {id_}, {words}", (id_,))
    if between.unresolved:
        yield Change("model", _unresolved("vocabulary entry", old.vocabulary.count, new.vocabulary.count, between))


def _unresolved(noun: str, before: int, after: int, between: Difference) -> str:
    """Tell of members that have no name: that they are gone, or new, where the numbers of all say so."""
    # Of the members without a name, so many more are gone than new.
    gone = before - len(between.gone) - (after - len(between.come))
    number = max(between.unresolved, abs(gone))
    if abs(gone) == number:
        what = f"{'is' if number == 1 else 'are'} {'gone' if gone > 0 else 'new'}"
    else:
        what = f"{'differs' if number == 1 else 'differ'}{' besides' if between.gone or between.come else ''}"
    why = "too many to name" if between.too_many else "which cannot be named from what was kept"
    return f"at least {counted(number, noun)} {what}, {why} ({before:,} -> {after:,})"


def _settings(component: str, old: Profile, new: Profile) -> Iterator[Change]:
    before, after = (_part(profile.settings, component) for profile in (old, new))
    kinds = [str(each.get(f"{component}.type", "none")) for each in (before, after)]
    if kinds[0] != kinds[1] and component != "model":
        verb = "added" if kinds[0] == "none" else "removed" if kinds[1] == "none" else "replaced"
        one, other = (_kinds(component, each) for each in (before, after))
        yield Change(component, f"{component} {verb}: {inert(one)} -> {inert(other)}")
        return
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path):
            yield Change(component, f"{inert(path)}: {_differing(before.get(path), after.get(path))}")


def _part(settings: Mapping[str, Setting], component: str) -> dict[str, Setting]:
    return {
        path: value
        for path, value in settings.items()
        if value is not None and path.startswith((f"{component}.", f"{component}["))
    }


def _kinds(component: str, settings: Mapping[str, Setting]) -> str:
    """Kinds of a component and of what a sequence holds."""
    inner = [str(value) for path, value in settings.items() if path.endswith(".type") and path != f"{component}.type"]
    kind = str(settings.get(f"{component}.type", "none"))
    return f"{kind}({', '.join(inner)})" if inner else kind


def _differing(old: Setting, new: Setting) -> str:
    """Show two values; of long texts the place where they differ."""
    if not isinstance(old, str) or not isinstance(new, str) or max(len(old), len(new)) <= _WHOLE:
        return f"{_value(old)} -> {_value(new)}"
    start = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    least = min(len(old), len(new)) - start
    end = next((at for at in range(least) if old[-1 - at] != new[-1 - at]), least)
    parts = [
        f"{'…' if start > _AROUND else ''}"
        f"{_text(text[max(start - _AROUND, 0) : len(text) - end + _AROUND])}"
        f"{'…' if end > _AROUND else ''}"
        for text in (old, new)
    ]
    changed = counted(max(len(old), len(new)) - start - end, "character")
    return f"{parts[0]} -> {parts[1]} ({changed} changed, at {start} of {len(old)})"


def _value(value: Setting) -> str:
    return _text(value) if isinstance(value, str) else "unset" if value is None else str(value).lower()


def _text(text: str) -> str:
    return piece(text.encode("utf-8", "replace"))
