"""An object with ``encode`` and ``decode`` that somebody else wrote: called with care, answers checked.

It may raise anything, return anything, and take options that would change what is asked of it.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tito_audit.errors import RecordError, TokenizerError
from tito_audit.loading.fingerprint import PROBE
from tito_audit.printable import inert
from tito_audit.records import shown, to_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

ID_LIMIT = 1 << 32
"""No vocabulary has an id from here on."""
_SHA256 = re.compile("[0-9a-f]{64}")
_TRIAL = "Hello, world! 12"
_SKIP, _CLEAN_UP = "skip_special_tokens", "clean_up_tokenization_spaces"
# Options that keep encode and decode to the letter, passed where the signature names them.
_ENCODING: dict[str, object] = {
    "add_special_tokens": False,
    "allowed_special": "all",
    "disallowed_special": (),
    "bos": False,
    "eos": False,
}


class Added(NamedTuple):
    """An added token: what is a border between runs is known by ``strips``."""

    id: int
    content: str
    special: bool
    strips: bool


def looks_like_one(obj: object) -> bool:
    """Say whether an object (no class) has the methods ``encode`` and ``decode``, and is no text or array."""
    if isinstance(obj, type | str | bytes | bytearray):
        return False
    return all(callable(_quietly(partial(getattr, obj, name))) for name in ("encode", "decode"))


class PythonObject:
    """The object behind checked calls. It pickles as the object does.

    Attributes:
        obj: The object.
        vocab_size: Number of ids by ``len()``, ``vocab_size``, ``n_vocab`` or ``get_vocab()``; None where none tells.
        added: Its added tokens, where it has ``added_tokens_decoder``.
    """

    def __init__(self, obj: Any) -> None:  # noqa: ANN401 - anything with encode and decode
        """Look at the signatures and try a text.

        Raises:
            TokenizerError: ``encode`` and ``decode`` do not give ids and text.
        """
        self.obj = obj
        self.vocab_size = _vocab_size(obj)
        self.added = _added(obj)
        self._encoding = {name: value for name, value in _ENCODING.items() if name in _named(obj.encode)}
        named = _named(obj.decode)
        # transformers takes the clean-up among its unnamed options, and otherwise does what the object is set to.
        unnamed = {_CLEAN_UP} if "**" in named and _quietly(lambda: hasattr(obj, _CLEAN_UP)) else set()
        self._decoding = [name for name in (_SKIP, _CLEAN_UP) if name in named | unnamed]
        try:
            self.decode(self.encode(_TRIAL).tolist())
        except TokenizerError as error:
            raise TokenizerError(
                f"{shown(obj)}: {error}; an object is a tokenizer where encode(text) gives ids and decode(ids) text"
            ) from error

    def encode(self, text: str) -> NDArray[np.uint32]:
        """Encode without adding special tokens.

        Raises:
            TokenizerError: The object raises, or its answer holds no ids.
        """
        answer = self._call("encode", text, **self._encoding)
        answer = _quietly(lambda: answer.ids) if not isinstance(answer, Sequence) and hasattr(answer, "ids") else answer
        try:
            ids, overflow = to_ids(answer, column="encode")
        except RecordError as error:
            raise TokenizerError(f"encode gives no ids: {inert(str(error))}") from error
        if overflow or (len(ids) and (ids.min() < 0 or ids.max() >= ID_LIMIT)):
            raise TokenizerError("encode gives an id that is none (integers from 0 to 4,294,967,295)")
        return ids.astype(np.uint32)

    def decode(self, ids: Sequence[int], **options: bool) -> str:
        """Decode with special tokens kept and nothing cleaned up, unless the options say so.

        Raises:
            TokenizerError: The object raises, gives no text, or does not know an option that is on.
        """
        for name, value in options.items():
            if value and name not in self._decoding:
                raise TokenizerError(
                    f"decode of {shown(self.obj)} takes no {name}, so that pipeline cannot be measured"
                )
        text = self._call("decode", list(ids), **{name: options.get(name, False) for name in self._decoding})
        if not isinstance(text, str):
            raise TokenizerError(f"decode gives no text but {shown(text)}")
        return text

    @property
    def sha256(self) -> str:
        """Hash of what identifies it: stated as ``sha256``, else of its type and its vocabulary (``get_vocab()``).

        Without either: of its type, its size and the ids of a fixed text. Hidden state that neither shows does not
        count.
        """
        stated = _quietly(lambda: self.obj.sha256)
        if isinstance(stated, str) and _SHA256.fullmatch(stated):
            return stated
        kind = f"{type(self.obj).__module__}.{type(self.obj).__qualname__}"
        vocab = _vocab(self.obj)
        if vocab is None:
            parts = [repr(self.vocab_size), *map(str, _quietly(lambda: self.encode(PROBE).tolist()) or [])]
        else:
            parts = [f"{id_} {piece!r}" for piece, id_ in sorted(vocab.items())]
        return hashlib.sha256("\n".join([kind, *parts]).encode("utf-8", "surrogatepass")).hexdigest()

    def _call(self, name: str, *args: object, **options: object) -> Any:  # noqa: ANN401 - whatever it returns
        try:
            return getattr(self.obj, name)(*args, **options)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a panic of an extension is no Exception
            said = _quietly(partial(str, error)) or ""
            raise TokenizerError(f"{name} raised {type(error).__name__}: {inert(said)[:300]}") from error


def _named(method: Callable[..., object]) -> set[str]:
    """Names that a method takes as keywords; ``"**"`` if it takes any."""
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return set()  # Written in C without a signature.
    names = {each.name for each in parameters if each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}}
    return names | ({"**"} if any(each.kind is each.VAR_KEYWORD for each in parameters) else set())


def _vocab_size(obj: Any) -> int | None:  # noqa: ANN401 - anything
    questions: tuple[Callable[[], object], ...] = (
        lambda: len(obj),
        lambda: obj.vocab_size() if callable(obj.vocab_size) else obj.vocab_size,
        lambda: obj.n_vocab,
    )
    for question in questions:
        size = _quietly(question)
        if isinstance(size, int) and not isinstance(size, bool) and 0 < size <= ID_LIMIT:
            return size
    vocab = _vocab(obj)
    return 1 + max(vocab.values()) if vocab else None


def _vocab(obj: Any) -> dict[str, int] | None:  # noqa: ANN401 - anything
    vocab = _quietly(obj.get_vocab) if hasattr(obj, "get_vocab") else None
    if not isinstance(vocab, Mapping):
        return None
    fine = all(isinstance(piece, str) and isinstance(id_, int) and 0 <= id_ < ID_LIMIT for piece, id_ in vocab.items())
    return dict(vocab) if fine else None


def _added(obj: Any) -> tuple[Added, ...]:  # noqa: ANN401 - anything
    tokens = _quietly(lambda: obj.added_tokens_decoder)
    found = []
    for id_, token in tokens.items() if isinstance(tokens, Mapping) else ():
        content = _quietly(partial(getattr, token, "content"))
        if isinstance(id_, int) and 0 <= id_ < ID_LIMIT and isinstance(content, str):
            strips = bool(getattr(token, "lstrip", False) or getattr(token, "rstrip", False))
            found.append(Added(id_, content, bool(getattr(token, "special", False)), strips))
    return tuple(sorted(found))


def _quietly(question: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the object says
    try:
        return question()
    except Exception:  # noqa: BLE001 - an object that does not answer has no answer
        return None
