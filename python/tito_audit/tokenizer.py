"""A tokenizer, from a file, a folder or an object, in the reference engine."""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tito_audit import _core
from tito_audit.errors import TokenizerError, TokenizerWarning
from tito_audit.lazy import lazy
from tito_audit.printable import inert
from tito_audit.records import shown, to_ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"
_ID_LIMIT = 1 << 32


class Tokenizer:
    """What `load_tokenizer` returns: the tokenizer that the audit asks, and where it came from.

    Immutable; threads may share it, and it survives pickling into another process (its bytes travel along).

    Attributes:
        source: Where it came from: the path of the ``tokenizer.json``, or the type of the object.
        sha256: Hex digest of the bytes of the ``tokenizer.json`` (of the serialised object).
        core: The engine itself.
    """

    def __init__(
        self, data: bytes, source: str, *, encode_special_tokens: bool = False, ignore_dropout: bool = False
    ) -> None:
        """Load a serialised tokenizer; `load_tokenizer` is the friendlier way.

        Args:
            data: Content of a ``tokenizer.json``.
            source: Name for reports.
            encode_special_tokens: Encode the text of special tokens as ordinary text.
            ignore_dropout: Audit a model that has ``dropout`` as if it had none.

        Raises:
            TokenizerError: The reference cannot load the data, or it has ``dropout`` and that is not ignored.
        """
        self._data = data
        self._encode_special_tokens = encode_special_tokens
        self._ignore_dropout = ignore_dropout
        self.source = source
        self.sha256 = hashlib.sha256(data).hexdigest()
        try:
            self.core = _core.Tokenizer.from_json(
                data, encode_special_tokens=encode_special_tokens, ignore_dropout=ignore_dropout
            )
        except TokenizerError as error:
            raise TokenizerError(f"{inert(source)}: {inert(str(error))}") from error

    @property
    def vocab_size(self) -> int:
        """Number of ids, added tokens included."""
        return self.core.vocab_size

    @property
    def model(self) -> str:
        """Kind of model: ``"BPE"``, ``"Unigram"``, ``"WordPiece"`` or ``"WordLevel"``."""
        return self.core.model

    @property
    def changed(self) -> tuple[str, ...]:
        """Settings of the file that were switched off: of ``"truncation"``, ``"padding"``, ``"dropout"``."""
        return tuple(self.core.changed)

    @lazy
    def special_ids(self) -> frozenset[int]:
        """Ids of the special added tokens (control tokens)."""
        return frozenset(id_ for id_, _, special in self.core.added_tokens if special)

    @property
    def skew(self) -> str | None:
        """What to know where the installed ``tokenizers`` wheel is of another minor version (TITO003), else None."""
        from importlib import metadata  # noqa: PLC0415 - 10 ms that only this question needs

        try:
            return version_skew(metadata.version("tokenizers"), _core.TOKENIZERS_VERSION)
        except metadata.PackageNotFoundError:
            return None

    def decode(
        self, token_ids: object, *, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool = False
    ) -> str:
        """Decode as the reference does; ids outside the vocabulary decode to nothing.

        Args:
            token_ids: One row of ids, as in `tito_audit.check`.
            skip_special_tokens: Leave special tokens out.
            clean_up_tokenization_spaces: Remove spaces before punctuation as ``transformers`` does.

        Raises:
            RecordError: An entry is no integer.
        """
        return self.core.decode(
            to_ids(token_ids).ids,
            skip_special_tokens=skip_special_tokens,
            clean_up_tokenization_spaces=clean_up_tokenization_spaces,
        )

    def token_bytes(self, token_id: int) -> bytes | None:
        """Bytes that an id stands for by itself (a space for a SentencePiece ``▁``), None outside the vocabulary."""
        return self.core.token_bytes(token_id) if 0 <= token_id < _ID_LIMIT else None

    def encode(self, text: str) -> NDArray[np.uint32]:
        """Encode as the reference does, without adding special tokens; shape ``(tokens,)``."""
        return self.core.encode(text)

    def __repr__(self) -> str:
        """Name the source, the model and the size."""
        return f"<Tokenizer {inert(self.source)} {self.model} {self.vocab_size:,} ids sha256:{self.sha256[:8]}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the bytes: the engine itself does not travel."""
        return _rebuild, (self._data, self.source, self._encode_special_tokens, self._ignore_dropout)


def load_tokenizer(source: object, *, ignore_dropout: bool = False) -> Tokenizer:
    """Load a tokenizer into the reference engine (the Rust ``tokenizers`` crate).

    Truncation and padding are cleared, since no audit wants them; `Tokenizer.changed` names what was. Where a
    ``tokenizer_config.json`` lies beside the file and switches ``clean_up_tokenization_spaces`` on, a
    `TokenizerWarning` says what that does to decoded text.

    Args:
        source: Path of a ``tokenizer.json``, a folder that holds one, or a ``tokenizers.Tokenizer`` (its
            ``encode_special_tokens`` is kept, which its own serialisation drops).
        ignore_dropout: Audit a model that has ``dropout`` as if it had none. Encoding with dropout is random, so
            there is no answer otherwise.

    Raises:
        TokenizerError: No tokenizer there, the reference cannot load it, or it has ``dropout``.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, models
        >>> tito.load_tokenizer(Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))).vocab_size
        2
    """
    if isinstance(source, str | os.PathLike):
        path = _file(Path(source))
        try:
            data = path.read_bytes()
        except OSError as error:
            raise TokenizerError(f"{inert(str(path))}: cannot be read ({error.strerror})") from error
        _warn_of_cleanup(path.with_name(CONFIG_FILE))
        return Tokenizer(data, str(path), ignore_dropout=ignore_dropout)
    # An object of that type can only exist once its package is imported, so nothing is imported to ask.
    wheel = sys.modules.get("tokenizers")
    if wheel is not None and isinstance(source, wheel.Tokenizer):
        try:
            data = source.to_str().encode()
        except Exception as error:  # the wheel raises no narrower type
            raise TokenizerError(
                f"{shown(source)}: cannot be serialised ({inert(str(error))}): a custom component written in Python "
                "(normalizer, pre-tokenizer, decoder) exists in this process only; put components of the tokenizers "
                "package in its place and load again"
            ) from error
        return Tokenizer(
            data,
            f"{type(source).__module__}.{type(source).__qualname__}",
            encode_special_tokens=bool(source.encode_special_tokens),
            ignore_dropout=ignore_dropout,
        )
    hint = "; pass its .backend_tokenizer" if hasattr(source, "backend_tokenizer") else ""
    raise TokenizerError(
        f"no tokenizer in {shown(source)}{hint} (accepted: the path of a {TOKENIZER_FILE}, a folder that holds one, "
        "a tokenizers.Tokenizer)"
    )


def version_skew(installed: str, linked: str) -> str | None:
    """Compare two versions of ``tokenizers``: None if major and minor agree, else what to know (TITO003)."""
    if installed.split(".")[:2] == linked.split(".")[:2]:
        return None
    return (
        f"installed tokenizers {installed}, audited with {linked}: a pipeline on the installed one may split text "
        f"differently (install tokenizers {'.'.join(linked.split('.')[:2])}.* to be sure)"
    )


def engine_of(tok: object) -> Tokenizer:
    """Return ``tok`` if it is what `load_tokenizer` returns, else raise `TokenizerError`."""
    if isinstance(tok, Tokenizer):
        return tok
    raise TokenizerError(f"no loaded tokenizer: {shown(tok)}; pass what load_tokenizer returns")


def _rebuild(data: bytes, source: str, encode_special_tokens: bool, ignore_dropout: bool) -> Tokenizer:  # noqa: FBT001
    return Tokenizer(data, source, encode_special_tokens=encode_special_tokens, ignore_dropout=ignore_dropout)


def _file(path: Path) -> Path:
    """Return the ``tokenizer.json`` that a path stands for."""
    name = inert(str(path))
    if path.is_dir():
        inside = path / TOKENIZER_FILE
        if inside.is_file():
            return inside
        found = ", ".join(sorted(inert(entry.name) for entry in path.iterdir())[:10]) or "nothing"
        raise TokenizerError(
            f"{name}: the folder holds no {TOKENIZER_FILE} (found: {found}); a fast tokenizer writes one with "
            "save_pretrained"
        )
    if not path.exists():
        raise TokenizerError(
            f"{name}: no such file or folder (nothing is downloaded: for a model of a hub pass its local folder, or "
            "tokenizers.Tokenizer.from_pretrained)"
        )
    return path


def _warn_of_cleanup(config: Path) -> None:
    import json  # noqa: PLC0415 - only a file on disk has a config beside it

    try:
        settings = json.loads(config.read_bytes())
    except (OSError, ValueError, RecursionError):
        return  # No config, or none that transformers could read either.
    if isinstance(settings, dict) and settings.get("clean_up_tokenization_spaces") is True:
        warnings.warn(
            f"{inert(str(config))} switches clean_up_tokenization_spaces on: transformers then removes spaces before "
            "punctuation when it decodes, and the text no longer encodes to the sampled ids. drifted counts a plain "
            "decode; to measure that pipeline too: clean_up_tokenization_spaces=True, on the command line "
            "--clean-up-tokenization-spaces",
            TokenizerWarning,
            stacklevel=3,
        )
