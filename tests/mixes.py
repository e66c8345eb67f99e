"""Seeded rows of every hostile kind for any tokenizer, as ragged arrays.

A mix is one kind of row; `Mixes.rows` gives rows of one mix with masks, owners, joins and missing contexts.
"""

import random
import unicodedata
from collections.abc import Callable, Iterator

from edits import Edits
from hostile_texts import Texts
from ragged_rows import Rows, owned
from sequences import ODD_IDS
from vocabulary import Pool, Vocabulary

TOKENS = 60
"""Length of most rows at most."""
LONGEST = 100_000
"""Length of the longest runs of one token."""
EMPTY = 50
"""Every so many rows is empty."""
BESIDE = ("", "", "", " ", "\n", "x", "<", "<<", ">", "|", "'s", "  ")
UNITS = (*" 1'sa=!<日\n\t\u00a0\u3000\u0663\u00bd\u0301", " ", "\r\n", " \n", "27")
# Where an engine that works in blocks of tokens may lose something.
EDGES = (63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2047, 2048, 2049, 3000)
Lists = Iterator[list[int]]


class Mixes:
    """A generator of rows for one vocabulary; the same seed gives the same rows on one machine."""

    def __init__(self, vocabulary: Vocabulary, *, seed: int) -> None:
        self._vocabulary = vocabulary
        self._random = random.Random(seed)
        self._texts = Texts(seed)
        self._edits = Edits(vocabulary, seed)
        mixes: dict[str, tuple[float, Callable[[], Lists]]] = {
            "natural": (0.11, self.natural),
            "mutated": (0.15, self.mutated),
            "random": (0.08, self.uniform),
            "shortest": (0.05, self.shortest),
            "dense": (0.14, self.dense),
            "runs": (0.07, self.runs),
            "strange": (0.09, self.strange),
            "marks": (0.06, self.marks),
            "broken": (0.05, self.broken),
            "added": (0.06, self.added),
            "outside": (0.02, self.outside),
            "unmade": (0.03, self.unmade),
            "single": (0.01, self.single),
            "joined": (0.03, self.joined),
            "long": (0.05, self.long),
        }
        self.shares = {name: share for name, (share, _) in mixes.items()}
        """The part of all tokens that each mix is meant to have."""
        self._streams = {name: rows() for name, (_, rows) in mixes.items()}

    def rows(self, name: str, tokens: int) -> Rows:
        """The next rows of a mix, of about `tokens` tokens together; none where it has no more."""
        found: list[list[int]] = []
        for ids in self._streams[name]:
            found.append(ids[: LONGEST if name != "long" else tokens])
            tokens -= len(ids) + 1
            if tokens < 0:
                break
            if self._random.randrange(EMPTY) == 0:
                found.append([])
        return owned(found, self._edits.rng)

    # Mixes: endless, but where a tokenizer has nothing of the kind

    def natural(self) -> Lists:
        """What encoding gives, whole and cut anywhere."""
        while True:
            ids = self._encoded()
            yield from [ids] if self._random.random() < 0.3 else self._cut(ids, TOKENS * 4)

    def mutated(self) -> Lists:
        """Natural and strange rows that left the canonical path."""
        while True:
            strange = self._random.random() < 0.2
            ids = self._vocabulary.encode(self._texts.strange()) if strange else self._encoded()
            for _ in range(3):
                for part in self._cut(ids, TOKENS):
                    self._edits.many(part)
                    yield part

    def uniform(self) -> Lists:
        """Ids drawn from the whole vocabulary, added tokens included."""
        return self._drawn(self._vocabulary.every, TOKENS)

    def shortest(self) -> Lists:
        """Ids drawn from the tokens of one and two bytes."""
        return self._drawn(self._vocabulary.short, TOKENS // 2)

    def dense(self) -> Lists:
        """One to nine tokens at which pre-tokenizers change their mind."""
        return self._drawn(self._vocabulary.nasty, 9)

    def runs(self) -> Lists:
        """Runs of white space, digits, marks and other units, encoded and drawn, beside nasty tokens."""
        vocabulary, pick = self._vocabulary, self._random.choice
        drawn = [pool for pool in (vocabulary.spaces, vocabulary.digits, vocabulary.marks) if pool]
        while True:
            ids: list[int] = []
            for _ in range(self._random.randint(1, 4)):
                if drawn and self._random.random() < 0.5:
                    ids += self._random.choices(pick(drawn), k=pick((1, 2, 3, 8, 30)))
                else:
                    ids += vocabulary.encode(pick(UNITS) * pick((1, 2, 3, 4, 17, 90)))
                ids += self._edits.nasty(pick((0, 1, 1, 2)))
            yield ids

    def strange(self) -> Lists:
        """Characters of every block, encoded whole and in parts."""
        while True:
            encode = self._random.choice((self._vocabulary.encode, self._as_it_is))
            parts = [encode(self._texts.strange()) for _ in range(self._random.choice((1, 1, 2, 4)))]
            for _ in range(2):
                ids = [token for part in parts for token in part]
                self._edits.some(ids)
                yield ids

    def marks(self) -> Lists:
        """Tokens that begin with marks, one or two, behind all that they may combine with."""
        vocabulary, pick = self._vocabulary, self._random.choice
        pools = [pool for pool in (vocabulary.marks, vocabulary.double_marks, vocabulary.composing) if pool]
        while True:
            ids: list[int] = []
            for _ in range(self._random.randint(1, 6)):
                ids += self._as_it_is(self._texts.marked()) if self._random.random() < 0.4 else []
                ids += [pick(pick(pools)) for _ in range(self._random.randint(1, 3))] if pools else []
                ids += self._edits.nasty(pick((0, 0, 1)))
            yield ids

    def broken(self) -> Lists:
        """Texts of many bytes a character with tokens missing, and tokens that are pieces of a character."""
        broken, pick = self._vocabulary.broken, self._random.choice
        while True:
            whole = self._vocabulary.encode(self._texts.strange())[: TOKENS // 2]
            for _ in range(3):
                ids = list(whole)
                for _ in range(self._random.randint(1, 4)):
                    if broken and self._random.random() < 0.6:
                        ids.insert(self._random.randint(0, len(ids)), pick(broken))
                    else:
                        self._edits.delete(ids)
                yield ids[pick((0, 0, 1, 2)) :]

    def added(self) -> Lists:
        """Added tokens, and their texts spelled by others: whole, in part, twice, and with more of the same around."""
        while self._vocabulary.added:
            ids: list[int] = []
            for _ in range(self._random.randint(1, 4)):
                token, content = self._random.choice(self._vocabulary.added)
                start, stop = (self._random.randint(0, len(content)) for _ in range(2))
                text = self._random.choice((content, content, content[start:] + content[:stop], content + content))
                before, after = (self._random.choice(BESIDE) for _ in range(2))
                ids += [token] if self._random.random() < 0.25 else self._edits.spelled(before + text + after)
                ids += self._edits.nasty(self._random.choice((0, 0, 1)))
            yield ids

    def outside(self) -> Lists:
        """Integers that are no ids."""
        odd = (*ODD_IDS, 2**40, self._vocabulary.core.vocab_size, self._vocabulary.outside)
        for ids in self.mutated():
            for _ in range(self._random.randint(1, 3)):
                ids.insert(self._random.randint(0, len(ids)), self._random.choice(odd))
            yield ids

    def unmade(self) -> Lists:
        """Entries that only a whole word reaches, or nothing: spelled by their merges, cut otherwise, and extended."""
        vocabulary, pick = self._vocabulary, self._random.choice
        while vocabulary.unmade:
            ids: list[int] = []
            for _ in range(self._random.randint(1, 3)):
                token, pieces = pick(vocabulary.unmade)
                ids += self._edits.nasty(pick((0, 0, 0, 1)))
                ids += pick(([token], pieces, pieces, pick(vocabulary.cuts(vocabulary.bytes[token]))))
                ids += self._edits.nasty(pick((0, 0, 0, 1, 2)))
            yield ids

    def single(self) -> Lists:
        """Every token by itself, in an order of its own; then no more."""
        yield from ([token] for token in self._edits.rng.permutation(list(self._vocabulary.bytes)).tolist())

    def joined(self) -> Lists:
        """Rows of the other mixes end to end, up to where blocks of tokens end."""
        streams = [self.natural(), self.natural(), self.mutated(), self.strange(), self.runs(), self.dense()]
        while True:
            size, ids = self._random.choice(EDGES), list[int]()
            streams_of_row = self._random.sample(streams, self._random.randint(1, 3))
            while len(ids) < size:
                ids += next(self._random.choice(streams_of_row), [0])
            yield ids[:size]

    def long(self) -> Lists:
        """One token again and again, with a few others in between in some."""
        while token := self._edits.nasty(1):
            ids = token * LONGEST
            for _ in range(self._random.choice((0, 1, 9))):
                at = self._random.randrange(self._random.choice((9, 2000, LONGEST)))
                ids[at : at + 1] = self._edits.nasty(1)
            yield ids

    # Parts

    def _encoded(self) -> list[int]:
        return self._vocabulary.encode(self._texts.natural(self._random.choice((40, 300, 2000))))

    def _as_it_is(self, text: str) -> list[int]:
        """A text whose characters no normal form has changed: encoded in parts that none would change."""
        ids, part = list[int](), ""
        for char in text:
            if not unicodedata.is_normalized("NFC", char):
                ids += self._vocabulary.encode(part) + self._edits.spelled(char)
                part = ""
            elif part and not unicodedata.is_normalized("NFC", part + char):
                ids += self._vocabulary.encode(part)
                part = char
            else:
                part += char
        return ids + self._vocabulary.encode(part)

    def _drawn(self, pool: Pool, most: int) -> Lists:
        """Rows of one to `most` drawn tokens, many at a time."""
        while len(pool):
            sizes = self._edits.rng.integers(1, most + 1, size=(1 << 14) // most)
            tokens, at = pool.draw(self._edits.rng, int(sizes.sum())).tolist(), 0
            for size in sizes.tolist():
                yield tokens[at : at + size]
                at += size

    def _cut(self, ids: list[int], most: int) -> Lists:
        at = 0
        while at < len(ids):
            size = self._random.randint(1, most)
            yield ids[at : at + size]
            at += size
