"""Tokenizers to draw from, and what a strategy gives at its default settings."""

from functools import cache
from typing import Any, NamedTuple, TypeVar

from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.internal import observability
from hypothesis.strategies import SearchStrategy
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

import tito_audit as tito
from zoo import zoo

T = TypeVar("T")
WORDS = (" the", " cat", " bad", " each", "hat")


class Both(NamedTuple):
    """One tokenizer, loaded and in the wheel."""

    loaded: tito.Tokenizer
    wheel: Tokenizer

    def again(self, ids: list[int]) -> list[int]:
        """What the wheel's round trip gives."""
        back: list[int] = self.wheel.encode(self.text(ids), add_special_tokens=False).ids
        return back

    def text(self, ids: list[int]) -> str:
        """What the wheel decodes."""
        return str(self.wheel.decode(ids, skip_special_tokens=False))


@cache
def kind(name: str) -> Both:
    """A tokenizer of the zoo."""
    wheel = Tokenizer.from_str(zoo()[name])
    return Both(tito.load_tokenizer(wheel), wheel)


@cache
def words() -> Both:
    """A BPE of a few letters, five words and a control token, behind a pre-tokenizer of words."""
    vocab, merges = [*" abcdeght"], list[tuple[str, str]]()
    for word in WORDS:
        for at in range(1, len(word)):
            if word[: at + 1] not in vocab:
                vocab.append(word[: at + 1])
                merges.append((word[:at], word[at]))
    wheel = Tokenizer(models.BPE({piece: token for token, piece in enumerate(vocab)}, merges))
    wheel.pre_tokenizer = pre_tokenizers.Split(Regex(r" ?\w+|\s+"), "isolated")
    wheel.decoder = decoders.Fuse()
    wheel.add_special_tokens([AddedToken("<e>", normalized=False)])
    return Both(tito.load_tokenizer(wheel), wheel)


def warm() -> None:
    """Let Hypothesis read the constants of all modules that are new, which it does in the example that comes next."""

    @settings(max_examples=1, database=None)
    @given(st.binary())
    def anything(_: bytes) -> None:
        pass

    anything()


def drawn(strategy: SearchStrategy[T], count: int = 40, *, number: int = 0) -> list[T]:
    """Draw at the default settings, with all health checks on."""
    examples: list[T] = []
    strategy.validate()
    warm()

    @seed(number)
    @settings(settings.get_profile("default"), max_examples=count, database=None)
    @given(strategy)
    def keep(example: T) -> None:
        examples.append(example)

    keep()
    return examples


def rejected(strategy: SearchStrategy[Any], count: int = 40) -> int:
    """How many draws were given up, but for those that Hypothesis cut off at a size of its own choice."""
    reasons: list[str] = []

    def note(observation: Any) -> None:
        if getattr(observation, "status", None) == "gave_up":
            reasons.append(observation.status_reason)

    with observability.with_observability_callback(note):
        assert drawn(strategy, count)
    return sum("size" not in reason for reason in reasons)
