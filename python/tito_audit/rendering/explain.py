"""What a code means, why it matters, how it comes about, what to do: the catalogue, for reading in a terminal."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from tito_audit.printable import WIDTH, clipped, inert
from tito_audit.rendering.layout import wrapped
from tito_audit.rendering.style import PLAIN, Style
from tito_audit.rules import RULES, SEVERITIES, Rule

_SHOWN_CHARACTERS = 60
_NEAREST = 3
_LONGEST = max(map(len, SEVERITIES))


class UnknownCodeError(ValueError):
    """There is no such finding; the message names those that it may have meant."""


def explain(names: str | Sequence[str] = (), *, width: int = WIDTH, style: Style = PLAIN) -> str:
    """Explain findings.

    Args:
        names: Codes such as ``"TITO101"`` or names such as ``"merge"``, in any case; the number alone will do. One, or
            several. None at all: the whole catalogue as a table.
        width: Cells of a line, at least 60. A line of an example may be longer.
        style: The stylesheet.

    Returns:
        Lines without a line break at the end.

    Raises:
        UnknownCodeError: There is no such finding.

    Example:
        >>> from tito_audit.rendering.explain import explain
        >>> print(explain("merge").splitlines()[0])
        TITO101 merge (note)
    """
    wanted = [names] if isinstance(names, str) else list(names)
    if not wanted:
        return "\n".join(_catalogue(width, style))
    rules = dict.fromkeys(map(_find, wanted))
    return "\n\n\n".join("\n".join(_explained(code, width, style)) for code in rules)


def _find(name: str) -> str:
    wanted = name.strip().lower().removeprefix("tito").lstrip("-_ ")
    for code, rule in RULES.items():
        if wanted in {code.lower().removeprefix("tito"), rule.name}:
            return code
    names = {rule.name: code for code, rule in RULES.items()}
    near = [names[each] for each in difflib.get_close_matches(wanted, names, n=_NEAREST)]
    near += [code.upper() for code in difflib.get_close_matches(f"TITO{wanted}".upper(), RULES, n=_NEAREST, cutoff=0.8)]
    near += [code for each, code in names.items() if wanted and wanted in each]
    codes = list(dict.fromkeys(near))[:_NEAREST]
    nearest = f"; did you mean {' or '.join(f'{code} {RULES[code].name}' for code in codes)}?" if codes else ""
    shown = clipped(inert(name), _SHOWN_CHARACTERS)
    raise UnknownCodeError(f"there is no finding {shown!r}{nearest} (tito-audit explain lists them all)")


def _explained(code: str, width: int, style: Style) -> Iterator[str]:
    rule = RULES[code]
    yield f"{style(f'{rule.code} {rule.name}', rule.severity)} ({rule.severity})"
    yield from wrapped(rule.headline, width)
    for heading, text in _sections(rule):
        yield ""
        yield style(heading, "strong")
        yield from wrapped(text, width, first="  ", rest="  ")
    yield ""
    yield style("example", "strong")
    for line in rule.example.rstrip("\n").split("\n"):
        yield f"  {line}".rstrip()


def _sections(rule: Rule) -> Iterator[tuple[str, str]]:
    yield "what it means", rule.meaning
    yield "why it matters for training", rule.why
    yield "how it comes about", rule.how_it_arises
    yield "how to fix it", rule.fix
    in_file = f'in pyproject.toml under [tool.tito_audit]: ignore = ["{rule.code}"]'
    yield "how to silence it", f"tito-audit check --ignore {rule.code} ..., or {in_file}"
    if rule.iff is not None:
        yield "definition", rule.iff


def _catalogue(width: int, style: Style) -> Iterator[str]:
    rules = sorted(RULES.values(), key=lambda rule: rule.code)
    longest = max(len(rule.name) for rule in rules)
    for rule in rules:
        start = f"{rule.code}  {rule.name:<{longest}}  {rule.severity:<{_LONGEST}}  "
        first, *more = wrapped(rule.headline, width, first=start, rest=" " * len(start))
        yield style(rule.code, rule.severity) + first.removeprefix(rule.code)
        yield from more
    counts = [f"{sum(rule.severity == severity for rule in rules)} {severity}s" for severity in SEVERITIES]
    yield ""
    yield from wrapped(f"{', '.join(counts)}; tito-audit explain CODE says more", width)
