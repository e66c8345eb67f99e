"""Seeded texts to make rows of: what lies on the machine, tool calls, and characters of every kind and block."""

import json
import random
import sysconfig
import unicodedata
from functools import cache
from pathlib import Path
from typing import Literal

from sequences import TEXTS

CORPUS = Path(__file__).with_name("corpus.txt")
CHUNK = 0x80
"""Code points are drawn from stretches of this size: no block of Unicode is smaller than a few of its characters."""
WORDS = 8
SPACED = ("", "", " ", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "'", ".", "1", "-")
JOINERS = ("\u200d", "\ufe0f", "\ufe0e", "\u200c", "\u20e3")
EMOJI = (range(0x1F300, 0x1F650), range(0x1F680, 0x1F700), range(0x1F900, 0x1FA00), range(0x2600, 0x27C0))
SKINS, FLAGS = range(0x1F3FB, 0x1F400), range(0x1F1E6, 0x1F200)
FORMS: tuple[Literal["", "NFC", "NFD", "NFKC", "NFKD"], ...] = ("", "NFC", "NFD", "NFKC", "NFKD")
JAMO = (range(0x1100, 0x1113), range(0x1161, 0x1176), range(0x11A8, 0x11C3))
IDEOGRAPHS = (range(0x4E00, 0xA000), range(0x3400, 0x4DC0), range(0x20000, 0x2A6E0))
# Characters that a normal form replaces for good: compatibility ideographs, singletons, composition exclusions.
REPLACED = (
    *(range(0xF900, 0xFA6E), range(0x2F800, 0x2FA1E), range(0x0958, 0x0960), range(0xFB1D, 0xFB4F)),
    *(range(0x212A, 0x212C), range(0x2126, 0x2127), range(0x1F71, 0x1F7E), range(0x0340, 0x0345)),
)


@cache
def files() -> tuple[Path, ...]:
    """Sources of the standard library and documents of the installed packages."""
    library, packages = (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib"))
    sources = [*library.glob("*.py"), *library.glob("*/*.py")]
    documents = [path for kind in ("METADATA", "*.md", "*.rst", "*.txt") for path in packages.glob(f"*/{kind}")]
    return tuple(sorted(path for path in {CORPUS, *sources, *documents} if "site-packages" not in path.parent.name))


@cache
def chunks() -> tuple[tuple[str, ...], ...]:
    """The characters of every stretch of Unicode that has some; of private ones and ideographs not every stretch."""
    found = []
    for start in range(0, 0x110000, CHUNK):
        if start > 0x30000 and start % 0x8000 > CHUNK:
            continue
        chars = [
            char for char in map(chr, range(start, start + CHUNK)) if unicodedata.category(char) not in ("Cn", "Cs")
        ]
        if chars:
            found.append(tuple(chars))
    return tuple(found)


@cache
def marks() -> tuple[str, ...]:
    """Every character that reorders, and every one that composes with what stands before it."""
    composing = {unicodedata.normalize("NFD", chr(point))[-1] for point in range(0xC0, 0x3100)}
    reordering = {chr(point) for point in range(0x300, 0x1E900) if unicodedata.combining(chr(point))}
    return tuple(sorted({char for char in composing if unicodedata.category(char)[0] == "M"} | reordering))


class Texts:
    """A source of texts; the same seed gives the same on one machine."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def natural(self, size: int) -> str:
        """A stretch of what people and programs wrote, of about `size` characters."""
        kind = self._random.random()
        if kind < 0.15:
            return self.tool_call()
        if kind < 0.3:
            return self._random.choice(TEXTS)
        path = CORPUS if kind < 0.45 else self._random.choice(files())
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return self._random.choice(TEXTS)
        start = self._random.randrange(max(1, len(text) - size))
        return text[start : start + size]

    def tool_call(self) -> str:
        """A call as models write it: JSON with names, numbers and text."""
        pick = self._random.choice
        call = {
            "name": pick(("get_weather", "search", "run.python", "view_file")),
            "arguments": {
                "city": pick(("Zürich", "São Paulo", "東京", "it's", "")),
                pick(("days", "lineNo", "max_tokens")): self._random.randrange(-5, 10 ** self._random.randint(1, 12)),
                "ratio": round(self._random.random(), self._random.randint(1, 9)),
                "code": pick(TEXTS),
                "tags": [pick(TEXTS)[:9] for _ in range(self._random.randrange(4))],
            },
        }
        return json.dumps(call, ensure_ascii=pick((True, False)), indent=pick((None, None, 2, 4))) + pick(
            ("", "\n", "\n\n")
        )

    def scripts(self) -> str:
        """Words of one stretch of Unicode each, with all that may stand between words."""
        words = []
        for _ in range(self._random.randint(1, WORDS)):
            chunk = self._random.choice(chunks())
            words += ["".join(self._random.choices(chunk, k=self._random.randint(1, 6))), self._random.choice(SPACED)]
        return "".join(words)

    def marked(self) -> str:
        """Characters with marks on them, in one of the normal forms or in none."""
        parts = []
        for _ in range(self._random.randint(1, WORDS)):
            base = self._random.choice("aeiounAEOUcnsz \n1.'\u0915\u05d0\u03b1\u0438\u304b\u00e9\u1ea1\uac00\u1100")
            parts += [base, *self._random.choices(marks(), k=self._random.choice((0, 1, 1, 2, 2, 3)))]
        text = "".join(parts)
        return unicodedata.normalize(form, text) if (form := self._random.choice(FORMS)) else text

    def pictures(self) -> str:
        """Emoji that are joined, coloured and flagged, whole and not."""
        parts = []
        for _ in range(self._random.randint(1, WORDS)):
            parts.append(self._point(*EMOJI))
            parts.append(self._random.choice(("", self._point(SKINS), self._point(FLAGS), *JOINERS, " ", "1\u20e3")))
        return "".join(parts)

    def asian(self) -> str:
        """Ideographs, syllables, letters of syllables, and characters that a normal form replaces for good."""
        parts = []
        for _ in range(self._random.randint(1, WORDS)):
            syllable = "".join(self._point(part) for part in JAMO[: self._random.randint(1, 3)])
            parts += self._random.choices(
                (
                    self._point(IDEOGRAPHS[0]),
                    self._point(*IDEOGRAPHS),
                    self._point(*REPLACED),
                    syllable,
                    unicodedata.normalize("NFC", syllable),
                    self._point(range(0x3041, 0x30FF)),
                    self._point(*JAMO),
                ),
                k=self._random.randint(1, 4),
            )
            parts.append(self._random.choice(SPACED))
        return "".join(parts)

    def strange(self) -> str:
        """One of the four kinds above."""
        return self._random.choice((self.scripts, self.marked, self.pictures, self.asian))()

    def _point(self, *ranges: range) -> str:
        return chr(self._random.choice(self._random.choice(ranges)))
