"""Strategies that check their arguments, and prepare what they need, before anything is drawn.

Hypothesis validates a strategy once before the first example, and counts the time of what happens there neither as
drawing nor as the test's own: so the windows of a large vocabulary are looked for there, and no health check sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")


def prepared(
    name: str, prepare: Callable[[], Callable[[DrawFn], T]], /, *elements: object, **options: object
) -> SearchStrategy[T]:
    """Make a strategy whose preparation is put off, and whose ``repr`` shows how it was asked for.

    Args:
        name: The function that was called.
        prepare: Checks and prepares; gives what draws one example. It raises `InvalidArgument` for a wrong argument.
        elements: Positional arguments of the call.
        options: Its options; those that are None were not given.
    """
    given = {key: value for key, value in options.items() if value is not None}

    def definition() -> SearchStrategy[T]:
        draw_one = prepare()

        def one(draw: DrawFn, *_: Any, **__: Any) -> T:  # noqa: ANN401 - what the call showed
            return draw_one(draw)

        one.__name__ = one.__qualname__ = name
        return st.composite(one)(*elements, **given)

    # Until it is prepared, the name of its definition is all that Hypothesis shows of a deferred strategy.
    shown = ", ".join([*map(repr, elements), *(f"{key}={value!r}" for key, value in given.items())])
    definition.__name__ = f"{name}({shown})"
    return st.deferred(definition)
