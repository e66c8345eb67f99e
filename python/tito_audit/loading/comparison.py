"""A converted tokenizer against the one it was made from: the same texts and id sequences through both, at load."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tito_audit import _core
from tito_audit.errors import TokenizerError
from tito_audit.loading.control import ControlIds
from tito_audit.loading.panics import is_failure
from tito_audit.printable import inert, piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")

COUNT = 500
"""Texts, and id sequences, that a comparison draws."""

_MOST_TRIMMED = 100
_SEED = 20_260_101
_SENTENCES = """
the quick brown fox jumps over a lazy dog Token TOKEN tokenIzer don't I'll WE'VE it's x y zz
naïve Größe façade Ἑλλάς привет мир שלום عالم नमस्ते ไทย 日本語 中文 한국어 ı İ ſ K é ﬁ ﬂ
def return self.x == None; {} [] () -> => != // /* */ <b> </b> &amp; ://a.b/c?d=e#f _under __init__
0 1 12 123 1234 12345678 3.14 1,000,000 0x1F ² ½ ٣ 五 🙂 🇩🇪
... !!! ??? -- — … «» “” ' '' " ` ~ @ # $ % ^ & * \\ | 's 'T 'Ll s
"""  # noqa: RUF001 - scripts are the point
_JOINED = ("e\u0301", "👩\u200d👩\u200d👧", "\u200b", "\ufeff", "'\u017f", "\u212a")
_WORDS = (*_SENTENCES.split(), *_JOINED)
_SPACES = (
    " ",
    "  ",
    "   ",
    " " * 9,
    "\n",
    "\n\n",
    "\n\n\n",
    "\r\n",
    "\r\n\r\n",
    "\t",
    "\t\t",
    " \n",
    "\n ",
    " \t ",
    "\u00a0",
)
_EDGES = (
    "",
    " ",
    "\n",
    "a\n  ",
    "a  \n",
    " \n \n ",
    "\t\n",
    "a",
    " a",
    "a ",
    "  a  b  ",
    "'s",
    "aaaaaaaaaaaaaaaa",
    "1" * 17,
)


class DifferenceError(TokenizerError):
    """A tokenizer for which the reference has no counterpart, or whose conversion answers differently."""


class Converted(NamedTuple):
    """A ``tokenizer.json`` that was made here, and what its source says that such a file does not.

    Attributes:
        data: The content; a `DifferenceError` where there is none to make.
        control: Control ids.
        compare: Compares the loaded one with what it was made from; raises `DifferenceError` where they differ.
        way_out: What to do where they do; for a message.
        original: What judges in its place where they differ: an object with encode and decode. None to refuse.
        warning: What to warn of.
    """

    data: bytes | DifferenceError
    control: ControlIds
    compare: Callable[[_core.Tokenizer], None]
    way_out: str
    original: object | None = None
    warning: str | None = None


def texts(count: int = COUNT, surfaces: Sequence[str] = ()) -> list[str]:
    """Draw texts, the same ones every time: words of many scripts, digits, white space runs, line ends, emoji, code.

    Args:
        count: How many.
        surfaces: Texts of special tokens, to stand among the words of some.
    """
    draw = random.Random(_SEED)  # noqa: S311 - the same texts every time, no secret
    drawn = list(_EDGES)
    while len(drawn) < count:
        parts = []
        for _ in range(draw.randint(1, 12)):
            kind = draw.random()
            if kind < 0.08 and surfaces:
                parts.append(draw.choice(surfaces))
            elif kind < 0.75:
                parts.append(draw.choice(_WORDS))
            elif kind < 0.85:
                parts.append("".join(draw.choices(draw.choice(_WORDS), k=draw.randint(1, 5))))
            parts.append(draw.choice(_SPACES) if draw.random() < 0.6 else "")
        drawn.append("".join(parts))
    return drawn[:count]


def sequences(ids: Sequence[int], each: Iterable[int] = (), count: int = COUNT) -> list[list[int]]:
    """Draw id sequences, the same ones every time: uniform ones, and one for each id that must be among them."""
    draw = random.Random(_SEED)  # noqa: S311 - the same sequences every time, no secret
    drawn = [[id_] for id_ in each]
    return drawn + [draw.choices(ids, k=draw.randint(1, 16)) for _ in range(count)]


def refuse_difference(
    core: _core.Tokenizer,
    *,
    encode: Callable[[str], list[int]],
    decode: Callable[[list[int]], str],
    drawn: Iterable[str],
    rows: Iterable[list[int]],
) -> None:
    """Encode texts and decode id sequences with both, decoded texts encoded again too, and refuse where they differ.

    Args:
        core: The converted tokenizer.
        encode: Encodes as the original does.
        decode: Decodes as the original does.
        drawn: Texts.
        rows: Id sequences.

    Raises:
        DifferenceError: With the first text or id sequence on which they differ, and both answers.
    """
    printed = []
    for ids in rows:
        theirs, ours = _answer(decode, ids), _answer(core.decode, to_array(ids))
        if theirs != ours:
            raise _difference(f"ids {_few(ids)} decode to {_shown(theirs)}", _shown(ours))
        if isinstance(theirs, str):
            printed.append(theirs)

    def both(text: str) -> tuple[object, object]:
        return _answer(encode, text), _answer(lambda same: core.encode(same).tolist(), text)

    for text in chain(drawn, printed):
        theirs, ours = both(text)
        if theirs != ours:
            least = _least(text, lambda part: operator.ne(*both(part)))
            theirs, ours = both(least)
            raise _difference(f"{_quoted(least)} encodes to {_shown(theirs)}", _shown(ours))


def to_array(ids: Sequence[int]) -> NDArray[np.uint32]:
    """Ids of a vocabulary as the core takes them."""
    return np.array(ids, dtype=np.uint32)


def _answer(call: Callable[[T], object], asked: T) -> object:
    """What one of the two answers; a `_Failure` where it raises or panics."""
    try:
        return call(asked)
    except BaseException as error:
        if not is_failure(error):
            raise
        return _Failure(error)


class _Failure:
    """An error in place of an answer; it equals nothing."""

    def __init__(self, error: BaseException) -> None:
        self.said = f"{type(error).__name__} ({inert(str(error))[:100]})"


def _least(text: str, differs: Callable[[str], bool]) -> str:
    """A part of a text that differs by itself: halves of it as long as one does, then without its ends."""
    while len(text) > 1:
        half = len(text) // 2
        part = next((part for part in (text[:half], text[half:]) if differs(part)), None)
        if part is None:
            break
        text = part
    for _ in range(min(len(text) - 1, _MOST_TRIMMED)):
        part = next((part for part in (text[1:], text[:-1]) if differs(part)), None)
        if part is None:
            break
        text = part
    return text


def _difference(theirs: str, ours: str) -> DifferenceError:
    return DifferenceError(
        f"converted to the reference engine it answers differently: {theirs} in the original, to {ours} in the "
        "reference"
    )


def _shown(answer: object) -> str:
    if isinstance(answer, _Failure):
        return answer.said
    return _quoted(answer) if isinstance(answer, str) else _few(cast("list[int]", answer))


def _quoted(text: str) -> str:
    return piece(text.encode("utf-8", "surrogatepass"))


def _few(ids: Sequence[int]) -> str:
    shown = ", ".join(map(str, ids[:20]))
    return f"[{shown}, … {len(ids) - 20} more]" if len(ids) > 20 else f"[{shown}]"
