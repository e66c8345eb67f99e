"""On every handed tokenizer the fast engine answers as the reference does, in every column.

`TITO_TOKENS` is the number of tokens per tokenizer; `campaign.py` compares a hundred million and more.
"""

import os

import pytest
from campaign import compared, table, vocabulary
from shared import NAMES

TOKENS = int(os.environ.get("TITO_TOKENS", "100000"))
SEED = 2027


@pytest.mark.parametrize("name", NAMES)
def test_every_column_is_that_of_the_reference(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    outcome = compared(name, TOKENS, seed=SEED)
    with capfd.disabled():
        print(f"\n{table({name: {'all': outcome.total}})}")  # noqa: T201 - the count is the result
    assert not outcome.differences, "\n".join(map(str, outcome.differences))
    assert outcome.total.tokens > TOKENS * 0.8
    core = vocabulary(name).core
    assert not core.demoted, core.not_fast
    assert (outcome.total.fast > 0) == core.fast
