"""Texts at which tokenizers change their mind."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tito_audit.strategies.arguments import checked_sizes, checked_tokenizer
from tito_audit.strategies.index import one_of
from tito_audit.strategies.prepared import prepared
from tito_audit.strategies.windows import material

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tito_audit.candidates.vocabulary import Vocabulary
    from tito_audit.tokenizer import Tokenizer

EDGES: tuple[str, ...] = (
    *"a 1\n.'\t",
    *("  ", "\n\n", "\r\n", " \n", "'s", "'LL", "12", "1234", "...", "é", "e\u0301", "\u0301", "日本", "ß"),
    *("\u00a0", "\u3000", "\u200b", "\u200d", "\ufeff", "\ufffd", "\u2581", "\x00", "\x1b[0m", "<0x41>", "Ω", "ﬁ"),
    *(
        "😀",
        "👩\u200d👩\u200d👧",
        "🇨🇭",
        "❤\ufe0f",
        "한국",
        "हिन्दी",
        "שלום",
        "\uff21",
        "\u017f",
        "\u0131",
        "²",
        "½",
        "Việt",
    ),
)
"""Pieces at whose edges pre-tokenizers cut, or that normalizers, decoders and byte fallback treat apart."""
_CONTROL = (
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "</s>",
    "<s>",
    "[INST]",
    "<think>",
    "<tool_call>",
)
_PARTS = st.integers(0, 2)
_KINDS = st.integers(0, 4)
_CUTS = st.integers(0, 64)
_ANY = st.text(max_size=8)


def texts(tokenizer: Tokenizer, *, min_size: int = 0, max_size: int | None = None) -> SearchStrategy[str]:
    """Texts around the places where a tokenizer has to decide: near merge boundaries, in Unicode, with control strings.

    A text is joined from pieces: what tokens print, whole and cut inside; pieces at whose edges pre-tokenizers cut; the
    text of added tokens and of the control tokens of well-known templates, whole and in part; and any characters. They
    may encode and decode to another text, which is what to look for; surrogates alone are no text and do not occur.

    Shrinks to few and simple pieces.

    Args:
        tokenizer: What `tito_audit.load_tokenizer` returns.
        min_size: Smallest number of characters, 800 at most: of more Hypothesis says that examples are too large.
        max_size: Largest number of characters; None for no limit.

    Raises:
        InvalidArgument: When drawn from: an argument is wrong.
    """

    def prepare() -> Callable[[DrawFn], str]:
        low, high = checked_sizes(min_size, max_size)
        return _Texts(material(checked_tokenizer(tokenizer)).vocabulary, low, high).draw

    return prepared(texts, prepare, tokenizer, min_size=min_size, max_size=max_size)


class _Texts:
    def __init__(self, vocabulary: Vocabulary, low: int, high: int | None) -> None:
        self._low, self._high = low, high
        printed = [vocabulary.text(token) for token in vocabulary.plain]
        self._tokens = printed or list(EDGES)
        contents = [text for text in vocabulary.added.values() if text and not _has_surrogates(text)]
        self._control = sorted({*contents, *_CONTROL}, key=lambda text: (len(text), text))
        self._numbers = st.lists(_KINDS, min_size=low and 1, max_size=high)

    def draw(self, draw: DrawFn) -> str:
        """Draw one text."""
        text = "".join(self._piece(draw, kind) for kind in draw(self._numbers))
        lacking = self._low - len(text)
        if lacking > 0:
            text += str(draw(st.text(min_size=lacking, max_size=lacking)))
        return text[: self._high]

    def _piece(self, draw: DrawFn, kind: int) -> str:
        """A piece of one of five kinds, the simplest first."""
        if kind == 0:
            return one_of(draw, EDGES)
        if kind == 1:
            return one_of(draw, self._tokens)
        if kind == 2:
            return str(draw(_ANY))
        whole = one_of(draw, self._tokens if kind == 3 else self._control)
        part, at = draw(_PARTS), draw(_CUTS)
        # Twice the same is where a merge across the joint would be; a part is where one is missed.
        return (whole, whole[at % len(whole) :], unicodedata.normalize("NFD", whole) + whole[: at % len(whole)])[part]


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)
