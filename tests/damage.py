"""JSON that was damaged: any one place of it, by any value, as a file in which it happened holds it."""

import copy
import json
import re
from typing import Any

from hypothesis import strategies as st

NUMBERS = st.sampled_from(
    ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1.5", "-1", "0", "1" + "0" * 30, "9" * 5000, "-" + "9" * 5000]
)
VALUES: st.SearchStrategy[Any] = (
    st.sampled_from(
        [None, True, False, [], {}, "", "\x1b[31m\n", "\ud800", [[]], [None], {"\x1b": 1}, {"\ud800": None}]
    )
    | st.text(max_size=3)
    | st.lists(st.integers(), max_size=3)
)
_HOLE = "a hole to be filled, of which there is one"


@st.composite
def damaged(draw: st.DrawFn, sound: Any) -> str:
    """JSON of which one place, drawn anywhere, was removed, renamed, or replaced by another value."""
    found = copy.deepcopy(sound)
    place = found
    while True:  # somewhere inside
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not place[key] or not isinstance(place[key], dict | list) or draw(st.booleans()):
            break
        place = place[key]
    how = draw(st.sampled_from(["value", "number", "removed", "renamed", "twice"]))
    if how == "value":
        place[key] = draw(VALUES)
    elif how == "number":
        place[key] = _HOLE
        return json.dumps(found).replace(f'"{_HOLE}"', draw(NUMBERS))
    elif how == "removed" or isinstance(place, list):
        value = place.pop(key)
        if how == "twice":
            place[:] = [*place, value, value]
    else:
        place[draw(VALUES.filter(lambda each: isinstance(each, str)))] = (
            place[key] if how == "twice" else place.pop(key)
        )
    return json.dumps(found)


def told_plainly(message: str, name: str) -> None:
    """Assert that a refusal is one line for people, which names the file."""
    assert name in message
    assert message.isprintable()
    assert not re.search(r"\w+Error\b|object has no|<class|Traceback|sys\.", message), message
