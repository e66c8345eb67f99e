"""Rules about how the calls of a multi-turn rollout follow each other: TITO501 and TITO502."""

from __future__ import annotations

from tito_audit.rules.shape import CONTROL, Rule

_HELD = (
    CONTROL
    + """\
>>> buffer = tito.RolloutBuffer()
>>> buffer.add_prompt([0])
>>> buffer.add_sampled([1, 3], [-0.5, -0.1])
"""
)

CONTINUITY = (
    Rule(
        code="TITO501",
        name="prefix-break",
        severity="error",
        headline="the ids of the next request do not go on where the rollout ends",
        meaning="Up to the first difference the request repeats what is held, after it other ids stand there. The "
        "cause is retokenization (the same bytes in other ids), template (other control tokens), or history-changed.",
        why="The sampler answers to another context than the buffer holds, so the logprobs of what follows belong to a "
        "sequence that nobody trains.",
        how_it_arises="The conversation was rendered anew for the request: a template that drops reasoning, a tool "
        "call that was parsed and written again, text that was decoded and encoded, a shortened history.",
        fix="Send the ids held and append the ids of the tool result to both; where the history has to change, begin a "
        "new rollout there and count what that takes from training.",
        example=_HELD
        + """\
>>> print(buffer.extends([0, 2, 3, 0], tok=tok))
TITO501 prefix-break: the request parts from the 3 ids held at token 1 (history-changed); 2 ids held after that, 2 of \
them sampled
""",
    ),
    Rule(
        code="TITO502",
        name="missing-separator",
        severity="error",
        headline="buffer and request differ by the ids between two turns only",
        meaning="Once a few control or white-space ids where two turns meet are put in or left out, the request goes "
        "on where the rollout ends.",
        why="Every later position is off by these ids, and the model is trained on turns that run into each other. A "
        "round trip of the buffer does not notice.",
        how_it_arises="The template writes a newline behind the end id that nobody samples, and the buffer went on "
        "without it; or a server trims the end id that was sampled.",
        fix="Append what the template writes between the turns as part of the tool's ids, and keep the end id as it "
        "was sampled.",
        example=_HELD
        + """\
>>> print(buffer.extends([0, 1, 0], tok=tok))
TITO502 missing-separator: the request lacks 3 at token 2; 1 id held after that, 1 of them sampled
""",
    ),
)
