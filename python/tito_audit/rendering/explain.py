"""What a code means, why it matters, how it comes about, what to do: the catalogue, for reading in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tito_audit.printable import WIDTH
from tito_audit.rendering.layout import wrapped
from tito_audit.rendering.style import PLAIN, Style
from tito_audit.rules import RULES, SEVERITIES, Rule
from tito_audit.rules.lookup import code_of

_SHOWN_CHARACTERS = 60
_NEAREST = 3
_LONGEST = max(map(len, SEVERITIES))


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
    rules = dict.fromkeys(map(code_of, wanted))
    return "\n\n\n".join("\n".join(_explained(code, width, style)) for code in rules)


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
