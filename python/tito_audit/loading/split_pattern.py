r"""Splitting patterns written for ``fancy-regex`` (tiktoken), rewritten for Oniguruma in Ruby syntax (the reference).

The two read most of a pattern alike. What they do not is rewritten here: ``{1,3}+`` is possessive in one and a repeated
repeat in the other, ``$`` and ``^`` stand at the ends of the text or of a line, ``{2}?`` is exactly two or optional,
``(?s)`` is called ``(?m)``, and ``\u{e9}`` is spelled ``\x{e9}``.
"""

from __future__ import annotations

import re

from tito_audit.errors import TokenizerError
from tito_audit.printable import inert

_ESCAPE = re.compile(r"\\(?:[pPxu]\{[^}]*\}|u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_INTERVAL = re.compile(r"\{\d+(,\d*)?\}([+?]?)")
_FLAGS = re.compile(r"\(\?([a-zA-Z-]+)([:)])")
_ANCHORS = {"$": r"\z", "^": r"\A"}


def to_oniguruma(pattern: str) -> str:
    r"""Rewrite a pattern of tiktoken so that the reference splits at the same places.

    Raises:
        TokenizerError: The pattern uses flags that have no counterpart (``x``, ``m``, ``U``).

    Example:
        >>> to_oniguruma(r"\p{N}{1,3}+|\s++$")
        '(?>\\p{N}{1,3})|\\s++\\z'
    """
    out: list[str] = []
    opened: list[int] = []  # where in `out` each open group starts
    atom = at = 0  # `atom`: where in `out` the last thing that can be repeated starts
    while at < len(pattern):
        char = pattern[at]
        if interval := _INTERVAL.match(pattern, at):
            at = interval.end()
            out.append(interval[0].removesuffix("?") if interval[1] is None else interval[0])
            if interval[2] == "+":
                out[-1] = interval[0][:-1]
                out[atom:] = [f"(?>{''.join(out[atom:])})"]
            continue
        if char == ")" and opened:
            atom = opened.pop()
        elif char not in "*+?":  # which belong to what stands before
            atom = len(out)
        if char == "(":
            opened.append(len(out))
            text = _group(pattern, at)
            if text.endswith(")"):  # flags alone: no group
                opened.pop()
        elif char == "[":
            text = _class(pattern, at)
        elif escape := _ESCAPE.match(pattern, at):
            text = escape[0]
        else:
            text = char
        at += len(text)
        out.append(_spelled(text, char))
    return "".join(out)


def _group(pattern: str, at: int) -> str:
    """The opening of a group, flags included."""
    flags = _FLAGS.match(pattern, at)
    if not flags:
        return "("
    if set(flags[1]) - set("is-"):
        raise TokenizerError(
            f"the splitting pattern uses the flags {inert(flags[0])}, which the reference reads otherwise; write it "
            "without them"
        )
    return flags[0]


def _class(pattern: str, at: int) -> str:
    """A character class with everything nested in it."""
    depth, end = 0, at
    while end < len(pattern):
        if escape := _ESCAPE.match(pattern, end):
            end = escape.end()
            continue
        depth += {"[": 1, "]": -1}.get(pattern[end], 0)
        end += 1
        if not depth:
            break
    return pattern[at:end]


def _spelled(text: str, char: str) -> str:
    if char == "(":
        return text.replace("s", "m") if _FLAGS.match(text) else text
    if char in _ANCHORS:
        return _ANCHORS[char]
    return re.sub(r"\\u\{?([0-9A-Fa-f]+)\}?", r"\\x{\1}", text) if char in "\\[" else text
