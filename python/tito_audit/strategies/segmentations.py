"""All ways to spell a text, in order from the canonical one to the wildest, each by its number.

A segmentation is a sequence of tokens whose bytes are those of the text. Its distance from the canonical one is the
number of places that only one of the two cuts, plus the number of tokens in the same place that are other ids of the
same bytes. How many segmentations of the rest of the text have which distance is counted from its end to its start, in
exact integers, so that the one with a given number is found by walking forward.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from tito_audit.errors import TokenizerError
from tito_audit.records import shown
from tito_audit.strategies.arguments import checked_tokenizer
from tito_audit.strategies.prepared import prepared
from tito_audit.strategies.windows import material

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tito_audit.candidates.vocabulary import Vocabulary
    from tito_audit.tokenizer import Tokenizer

LONGEST = 10_000
"""Bytes of a text at most: the numbers have as many digits as the text has bytes, and as many of them are added up."""
_STATES = 30_000
"""Places of the text times distances that are counted apart; what is farther away counts as one distance."""
_CHECKED = 32
"""How many segmentations are decoded before any is drawn, ..."""
_CHECKED_BYTES = 20_000
"""... and how many bytes they have together, as far as two are enough."""
_BESIDE = 12
"""Characters that are shown from where two texts differ."""


def segmentations(tokenizer: Tokenizer, text: str) -> SearchStrategy[list[int]]:
    """Any ids that spell a text: every segmentation of its bytes into tokens, added tokens among them.

    Shrinks towards what encoding the text gives, and gives that first: segmentations are numbered by how many cuts they
    have in other places, from none to all. In texts of some hundred bytes and more, all that are far away count as
    equally far.

    Args:
        tokenizer: What `tito_audit.load_tokenizer` returns.
        text: The text, of 10,000 bytes at most; of an empty one the only segmentation is empty.

    Raises:
        InvalidArgument: When drawn from: an argument is wrong, the text is too long, or the tokens that encoding gives
            do not spell it (a normalizer, an unknown token, or a decoder that does more than join what tokens stand
            for).

    Example:
        >>> import tito_audit as tito
        >>> from tito_audit.strategies import Segmentations
        >>> from tokenizers import Tokenizer, decoders, models
        >>> bpe = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
        >>> bpe.decoder = decoders.Fuse()
        >>> list(Segmentations(tito.load_tokenizer(bpe), "aaa"))
        [[1, 0], [0, 0, 0], [0, 1]]
    """

    def prepare() -> Callable[[DrawFn], list[int]]:
        every = Segmentations(tokenizer, text)
        numbers = st.integers(0, every.count - 1)
        return lambda draw: every[draw(numbers)]

    return prepared(segmentations, prepare, tokenizer, text)


class Segmentations:
    """All segmentations of a text by number, the canonical one first: a sequence, but for its length.

    Attributes:
        count: How many there are; it may be more than ``len`` can say.
    """

    def __init__(self, tokenizer: Tokenizer, text: str) -> None:
        """Count them.

        Args:
            tokenizer: What `tito_audit.load_tokenizer` returns.
            text: The text.

        Raises:
            InvalidArgument: As in `segmentations`.
        """
        vocabulary = material(checked_tokenizer(tokenizer)).vocabulary
        canonical = _canonical(tokenizer, text)
        if (printed := tokenizer.decode(canonical)) != text:
            raise InvalidArgument(
                f"text={shown(text)} does not come back from encoding, which drops or changes characters: "
                f"{_difference(text, printed)}; take one that does"
            )
        self._data = b"".join(vocabulary.bytes.get(token, b"") for token in canonical)
        if len(self._data) > LONGEST:
            raise InvalidArgument(f"text={shown(text)} has {len(self._data)} bytes: {LONGEST} at most can be counted")
        self._steps = _steps(vocabulary, self._data, canonical)
        farthest = max(1, min(2 * len(self._data) + 1, _STATES // (len(self._data) + 1)))
        self._counts = self._counted(farthest)
        self.count = self._counts[0][0]
        self._text = text
        checked = min(_CHECKED, max(2, _CHECKED_BYTES // (len(self._data) + 1)))
        for number in sorted({self.count * share // checked for share in range(checked)} | {self.count - 1}):
            if (printed := tokenizer.decode(self[number])) != text:
                raise InvalidArgument(
                    f"text={shown(text)}: the ids {shown(self[number])} have the bytes of what encoding gives, and "
                    f"print otherwise: {_difference(text, printed)}; take a tokenizer that joins its tokens' bytes"
                )

    def __repr__(self) -> str:
        """Show the text and how many segmentations there are."""
        power = self.count.bit_length() - 1
        return f"<Segmentations of {shown(self._text)}: {self.count if power < 64 else f'2**{power} or more'}>"

    def _counted(self, farthest: int) -> list[list[int]]:
        """By place and distance, the number of ways to spell the rest that are at least so far away."""
        size = len(self._data)
        counts = [[0] * (farthest + 1) for _ in range(size + 1)]
        counts[size][0] = 1
        for place in range(size - 1, -1, -1):
            rests = [(counts[stop], cost) for _, stop, cost in self._steps[place]]
            counts[place] = [sum([rest[max(0, far - cost)] for rest, cost in rests]) for far in range(farthest + 1)]
        return counts

    def __getitem__(self, number: int) -> list[int]:
        """Give the segmentation with a number.

        Raises:
            IndexError: There are fewer.
            TypeError: It is no integer.
        """
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise TypeError(f"segmentations are numbered by integers: {shown(number)} is none")
        if not 0 <= number < self.count:
            raise IndexError(f"segmentation {number} of {self.count}")
        farther = self._counts[0]
        # The last distance that so many are not nearer than.
        distance = max(at for at, ways in enumerate(farther) if number >= self.count - ways)
        number -= self.count - farther[distance]
        place, found = 0, list[int]()
        is_beyond = distance == len(farther) - 1
        while place < len(self._data):
            for step in self._steps[place]:
                _, stop, cost = step
                rest, ways = distance - cost, self._counts[stop]
                share = ways[max(0, rest)]
                if not is_beyond:
                    share = share - ways[rest + 1] if rest >= 0 else 0
                if number < share:
                    break
                number -= share
            token, place, cost = step
            found.append(token)
            distance = max(0, distance - cost) if is_beyond else distance - cost
        return found


def _canonical(tokenizer: Tokenizer, text: object) -> list[int]:
    """What encoding gives.

    Raises:
        InvalidArgument: It is no text that can be encoded.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"text={shown(text)} is no text")
    try:
        ids: list[int] = tokenizer.encode(text).tolist()
    except (TokenizerError, UnicodeEncodeError) as error:
        raise InvalidArgument(f"text={shown(text)} cannot be encoded: {error}") from error
    return ids


def _difference(text: str, printed: str) -> str:
    """Where a text and what is printed first differ, and what they are there."""
    length = min(len(text), len(printed))
    at = next((at for at in range(length) if text[at] != printed[at]), length)
    there, instead = (shown(each[at : at + _BESIDE]) for each in (text, printed))
    return f"from character {at} on, {there} becomes {instead}"


def _steps(vocabulary: Vocabulary, data: bytes, canonical: Sequence[int]) -> list[list[tuple[int, int, int]]]:
    """By place, the tokens that go on: id, where it ends, what it adds to the distance; the nearest first."""
    stops = list(accumulate(len(vocabulary.bytes[token]) for token in canonical))
    spans = dict(zip(zip([0, *stops], stops, strict=False), canonical, strict=False))
    cut = [0] * (len(data) + 1)
    for stop in stops:
        cut[stop] = 1
    # Number of canonical cuts in front of each place.
    before = [0, *accumulate(cut)]
    sizes = vocabulary.sizes
    steps = []
    for start in range(len(data)):
        found = []
        for size in sizes:
            stop = start + size
            if stop > len(data):
                break
            for token in vocabulary.all_named(data[start:stop]):
                missed = before[stop] - before[start + 1]
                other = spans.get((start, stop), token) != token
                found.append((missed + (not cut[stop]) + other, -size, token, stop))
        steps.append([(token, stop, cost) for cost, _, token, stop in sorted(found)])
    return steps
