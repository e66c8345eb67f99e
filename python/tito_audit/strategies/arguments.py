"""Arguments of strategies: what is wrong with them is an `InvalidArgument` that says what is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis.errors import InvalidArgument

from tito_audit import _core
from tito_audit.candidates.judged import CAUSES
from tito_audit.errors import UnknownCodeError
from tito_audit.records import shown
from tito_audit.rules import RULES
from tito_audit.rules.lookup import code_of
from tito_audit.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Collection

LARGEST = 800
"""Tokens or characters that can be asked for at least.

Hypothesis draws from some 8,000 bytes, and refuses a test whose simplest example takes more than half of them; a token
takes four or five.
"""
_ROOM = 8 * 1024
"""Bytes that Hypothesis draws an example from."""


def checked_tokenizer(tokenizer: object) -> Tokenizer:
    """Give back a loaded tokenizer.

    Raises:
        InvalidArgument: It is none.
    """
    if not isinstance(tokenizer, Tokenizer):
        raise InvalidArgument(
            f"tokenizer={shown(tokenizer)} is no loaded tokenizer: hand over what tito_audit.load_tokenizer returns"
        )
    return tokenizer


def checked_flag(value: object, name: str) -> bool | None:
    """Give back True, False or None.

    Raises:
        InvalidArgument: It is anything else.
    """
    if value is None or isinstance(value, bool):
        return value
    raise InvalidArgument(f"{name}={shown(value)}: True, False or None is needed")


def checked_count(value: object, name: str, *, least: int = 0, most: int) -> int:
    """Give back a number from `least` to `most`.

    Raises:
        InvalidArgument: It is anything else.
    """
    count = _checked_integer(value, name, least)
    if count > most:
        raise InvalidArgument(
            f"{name}={shown(value)} is more than Hypothesis has room for in an example: {most} at most"
        )
    return count


def checked_limit(value: object, name: str, *, least: int = 0) -> int | None:
    """Give back a largest number, or None for no limit: also where it is more than any example has room for.

    Raises:
        InvalidArgument: It is neither None nor an integer of at least `least`.
    """
    if value is None:
        return None
    limit = _checked_integer(value, name, least)
    return None if limit > _ROOM else limit


def checked_sizes(min_size: object, max_size: object, *, most: int = LARGEST) -> tuple[int, int | None]:
    """Give back the smallest size, `most` at most, and the largest, which is None where there is none.

    Raises:
        InvalidArgument: One is no size, or no size lies between them.
    """
    low, high = checked_count(min_size, "min_size", most=most), checked_limit(max_size, "max_size")
    if high is not None and high < low:
        raise InvalidArgument(f"min_size={low} is larger than max_size={high}")
    return low, high


def _checked_integer(value: object, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidArgument(f"{name}={shown(value)}: an integer of at least {least} is needed")
    return value


def checked_cause(cause: object) -> str:
    """Give back the name of a cause, which may be asked for by its code.

    Raises:
        InvalidArgument: There is no such cause.
    """
    needed = f"one of {', '.join(CAUSES)} is needed"
    if not isinstance(cause, str):
        raise InvalidArgument(f"cause={shown(cause)}: {needed}")
    try:
        code = code_of(cause)
    except UnknownCodeError as error:
        raise InvalidArgument(f"cause={shown(cause)}: {error}") from error
    if code not in _core.CAUSES:
        raise InvalidArgument(f"cause={shown(cause)} is no cause of drift: {needed}")
    return RULES[code].name


def checked_choice(value: object, name: str, allowed: Collection[str]) -> str:
    """Give back one of some words.

    Raises:
        InvalidArgument: It is none of them.
    """
    if isinstance(value, str) and value in allowed:
        return value
    raise InvalidArgument(f"{name}={shown(value)}: one of {', '.join(map(repr, allowed))} is needed")
