"""Strategies that check their arguments, and prepare what they need, before anything is drawn.

Hypothesis validates a strategy once before the first example, and counts the time of what happens there neither as
drawing nor as the test's own: so the windows of a large vocabulary are looked for there, and no health check sees it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st

from tito_audit.records import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")


def prepared(
    called: Callable[..., SearchStrategy[T]],
    prepare: Callable[[], Callable[[DrawFn], T]],
    /,
    *elements: object,
    **options: object,
) -> SearchStrategy[T]:
    """Make a strategy whose preparation is put off, and whose ``repr`` shows how it was asked for.

    Args:
        called: The function that was called.
        prepare: Checks and prepares; gives what draws one example. It raises `InvalidArgument` for a wrong argument.
        elements: Positional arguments of the call.
        options: Its options; those with the value that they have by themselves are not shown.
    """
    name, parameters = called.__name__, inspect.signature(called).parameters
    given = {key: value for key, value in options.items() if value is not parameters[key].default}

    def definition() -> SearchStrategy[T]:
        draw_one = prepare()

        def one(draw: DrawFn, *_: Any, **__: Any) -> T:  # noqa: ANN401 - what the call showed
            return draw_one(draw)

        one.__name__ = one.__qualname__ = name
        return st.composite(one)(*elements, **given)

    # Until it is prepared, the name of its definition is all that Hypothesis shows of a deferred strategy.
    arguments = ", ".join([*map(shown, elements), *(f"{key}={shown(value)}" for key, value in given.items())])
    definition.__name__ = f"{name}({arguments})"
    return st.deferred(definition)
