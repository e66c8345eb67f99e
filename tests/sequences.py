"""Seeded id sequences of every kind that a sampler, a tool or a broken pipeline hands over, for any tokenizer."""

import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

OWNERS = 5
ODD_IDS = (-1, -(2**31), -(2**63), 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 5, 2**63 - 1)
TEXTS = (
    "The quick brown fox jumps over the lazy dog. It wasn't 12,345 steps away, we've counted them!",
    'def add(a, b):\n    """Add."""\n    return a + b\n\n\nprint(add(1, 2))  # 3\n',
    '{"name": "get_weather", "arguments": {"city": "Zürich", "days": 10}}\n',
    "Größe, façade, naïve, Ångström, Việt Nam, ½ of ﬁve ﬂats, Ⅷ, ①, Ｆｕｌｌ width",
    "日本語のテキストと漢字、カタカナ。한국어도 있고 中文也有。",
    "Привет, мир! שלום עולם مرحبا بالعالم हिन्दी क़ानून ภาษาไทย မြန်မာဘာသာ",
    "emoji 😀👩‍👩‍👧‍👦🇨🇭 ❤️ and ∀x∈ℝ: ϕ(x) ≤ ∑ᵢ xᵢ²",
    "line\n\nline\r\n\r\n\tindented\n    four\n        eight   \n \n  \n",
    "\u00a0nbsp\u2003em\u200bzero\ufeffbom \u2581mark <0x40> \ufffd replaced \x00\x01\x1b[0m",
)
MARKS = ("\u0301", "\u0300", "\u0327", "\u0323", "\u0308", "\u093c", "\u3099")


@dataclass(frozen=True)
class Sampled:
    """One row: ids with a mask and an owner for each."""

    ids: list[int]
    mask: list[int]
    owners: list[int]


class Sequences:
    """A generator of id sequences for one tokenizer; the same seed gives the same rows."""

    def __init__(self, wheel: Tokenizer, *, seed: int, texts: Sequence[str] = ()) -> None:
        self._wheel = wheel
        self._random = random.Random(seed)
        self._texts = [*texts, *TEXTS]
        self._vocab: dict[str, int] = wheel.get_vocab(with_added_tokens=True)
        self._ids = sorted(self._vocab.values())
        # The wheel's dictionary comes in another order in every process.
        single = (token for piece, token in self._vocab.items() if len(piece) == 1 or piece.startswith("<0x"))
        self._single = sorted(single)
        self._added = [(token, added.content) for token, added in sorted(wheel.get_added_tokens_decoder().items())]
        self._kinds: list[Callable[[], list[int]]] = [
            self.natural,
            self.mutated,
            self.mutated,
            self.recut_everywhere,
            self.random_ids,
            self.spelled_added,
            self.truncated,
            self.outside,
            self.runs,
            self.combining,
            self.added_between,
        ]

    def rows(self, count: int, *, long: int = 0) -> Iterator[Sampled]:
        """Give `count` rows of mostly 5 to 60 tokens, the first `long` of them joined from many."""
        for index in range(count):
            ids = self._random.choice(self._kinds)()
            if index < long:
                ids = [token for _ in range(40) for token in self._random.choice(self._kinds)()]
            yield self.owned(ids)

    def owned(self, ids: list[int]) -> Sampled:
        """Cut a row into segments, each with an owner and a mask value."""
        mask: list[int] = []
        owners: list[int] = []
        longest = self._random.choice((1, 2, 4, 12, 40))
        while len(mask) < len(ids):
            size = self._random.randint(1, longest)
            owner = self._random.randrange(OWNERS)
            mask += [self._random.randrange(2)] * size
            owners += [owner] * size
        return Sampled(ids, mask[: len(ids)], owners[: len(ids)])

    def text(self) -> str:
        """A piece of text, cut anywhere."""
        text = self._random.choice(self._texts)
        start = self._random.randrange(max(1, len(text) - 20))
        return text[start : start + self._random.randint(3, 160)]

    def encode(self, text: str) -> list[int]:
        """Encode without adding special tokens."""
        ids: list[int] = self._wheel.encode(text, add_special_tokens=False).ids
        return ids

    def natural(self) -> list[int]:
        """What encoding a text gives."""
        return self.encode(self.text())[: self._random.randint(5, 60)]

    def mutated(self) -> list[int]:
        """A natural row with one to five edits, as a sampler leaves the canonical path."""
        ids = self.natural()
        for _ in range(self._random.randint(1, 5)):
            self._random.choice((self._recut, self._recut, self._join, self._delete, self._swap, self._double))(ids)
        return ids

    def recut_everywhere(self) -> list[int]:
        """A natural row in which many tokens are split in two."""
        ids = self.natural()
        for _ in range(len(ids)):
            self._recut(ids)
        return ids[:80]

    def random_ids(self) -> list[int]:
        """Ids drawn from the vocabulary, sometimes from its one-symbol pieces alone."""
        source = self._single if self._single and self._random.random() < 0.3 else self._ids
        return [self._random.choice(source) for _ in range(self._random.randint(0, 30))] if source else []

    def spelled_added(self) -> list[int]:
        """An added token's string, spelled by ordinary tokens, in a text."""
        if not self._added:
            return self.mutated()
        content = self._random.choice(self._added)[1]
        cut = self._random.randint(1, len(content))
        spelled = self.encode(content[:cut]) + self.encode(content[cut:])
        return self.natural()[:15] + spelled + self.natural()[:15]

    def truncated(self) -> list[int]:
        """A text of many multi-byte characters with tokens missing at either end, and inside."""
        ids = self.encode(self._random.choice([*self._texts[-6:], self.text()]))
        start = self._random.randrange(max(1, len(ids) - 5))
        ids = ids[start : start + self._random.randint(2, 40)]
        for _ in range(self._random.randrange(3)):
            self._delete(ids)
        for _ in range(self._random.randrange(3)):
            if self._single:
                ids.insert(self._random.randint(0, len(ids)), self._random.choice(self._single))
        return ids

    def outside(self) -> list[int]:
        """Integers that are no ids: negative, in gaps, in a padded range, huge."""
        ids = self.natural()
        top = (self._ids[-1] if self._ids else 0) + 1
        for _ in range(self._random.randint(1, 3)):
            odd = self._random.choice((*ODD_IDS, top, top + self._random.randrange(1000)))
            ids.insert(self._random.randint(0, len(ids)), odd)
        return ids

    def runs(self) -> list[int]:
        """Runs of white space, digits, newlines or one symbol, cut at random."""
        ids: list[int] = []
        for _ in range(self._random.randint(1, 6)):
            unit = self._random.choice(
                (" ", "\n", "\t", "1", "27", "a", "=", "\r\n", " \n", "é", "日", "!?", self.text()[:4])
            )
            ids += self.encode(unit * self._random.randint(1, 20))
        return ids[:90]

    def combining(self) -> list[int]:
        """Decomposed and composed characters, encoded apart so that the marks stay."""
        ids: list[int] = []
        for _ in range(self._random.randint(1, 5)):
            word = self.text()[:12]
            if self._random.random() < 0.5:
                word = unicodedata.normalize("NFD", word)
            ids += self.encode(word)
            for _ in range(self._random.randint(0, 3)):
                ids += self.encode(self._random.choice(MARKS))
        return ids[:60]

    def added_between(self) -> list[int]:
        """Added tokens beside text, spaces and each other."""
        ids: list[int] = []
        for _ in range(self._random.randint(1, 6)):
            if self._added:
                ids.append(self._random.choice(self._added)[0])
            ids += self.encode(self._random.choice((" ", "", "x", "  a", "\n", self.text()[:15])))
        return ids[:60]

    def _piece(self, token: int) -> str:
        return str(self._wheel.id_to_token(token) or "") if 0 <= token < 2**32 else ""

    def _split(self, piece: str) -> list[int] | None:
        """Two tokens that spell the piece."""
        cuts = [cut for cut in range(1, len(piece)) if piece[:cut] in self._vocab and piece[cut:] in self._vocab]
        if not cuts:
            return None
        cut = self._random.choice(cuts)
        return [self._vocab[piece[:cut]], self._vocab[piece[cut:]]]

    def _recut(self, ids: list[int]) -> None:
        if ids:
            at = self._random.randrange(len(ids))
            ids[at : at + 1] = self._split(self._piece(ids[at])) or [ids[at]]

    def _join(self, ids: list[int]) -> None:
        """Cut two neighbours elsewhere, or make them one."""
        if len(ids) > 1:
            at = self._random.randrange(len(ids) - 1)
            piece = self._piece(ids[at]) + self._piece(ids[at + 1])
            whole = [self._vocab[piece]] if piece in self._vocab else None
            ids[at : at + 2] = self._split(piece) or whole or ids[at : at + 2]

    def _delete(self, ids: list[int]) -> None:
        if ids:
            del ids[self._random.randrange(len(ids))]

    def _swap(self, ids: list[int]) -> None:
        if len(ids) > 1:
            at = self._random.randrange(len(ids) - 1)
            ids[at], ids[at + 1] = ids[at + 1], ids[at]

    def _double(self, ids: list[int]) -> None:
        if ids:
            at = self._random.randrange(len(ids))
            ids.insert(at, ids[at])
