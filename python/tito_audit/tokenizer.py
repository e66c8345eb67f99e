"""A loaded tokenizer: what the audit asks, and where it came from."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from tito_audit import _core
from tito_audit.errors import TokenizerError, TokenizerWarning
from tito_audit.lazy import lazy
from tito_audit.loading.control import ControlIds, of_files, tokenizer_files
from tito_audit.printable import counted, inert
from tito_audit.recheck import LEAST, Recheck
from tito_audit.records import shown, to_ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tito_audit.loading.python_engine import PythonEngine

EngineChoice = Literal["auto", "fast", "reference"]
"""Which engine may judge; see `load_tokenizer`."""

_ID_LIMIT = 1 << 32


class Tokenizer:
    """What `load_tokenizer` returns: the tokenizer that the audit asks, and where it came from.

    Threads may share it, and it survives pickling into another process (its bytes travel along). It never changes, but
    for one thing: a fast engine that was found to differ from the reference judges no more.

    Attributes:
        source: Where it came from: the path of the file, the hub id with its commit, or the type of the object.
        sha256: Hex digest of the bytes of the ``tokenizer.json`` (of the serialised or converted object; of what
            identifies an object of Python: its type and its vocabulary).
        core: The engine itself.
    """

    core: _core.Tokenizer | PythonEngine

    def __init__(
        self,
        data: bytes | PythonEngine,
        source: str,
        *,
        encode_special_tokens: bool = False,
        ignore_dropout: bool = False,
        engine: EngineChoice = "auto",
        path: Path | None = None,
        control: ControlIds | None = None,
    ) -> None:
        """Load a serialised tokenizer; `load_tokenizer` is the friendlier way.

        Args:
            data: Content of a ``tokenizer.json``, or the engine around an object of Python.
            source: Name for reports.
            encode_special_tokens: Encode the text of special tokens as ordinary text.
            ignore_dropout: Audit a model that has ``dropout`` as if it had none.
            engine: Which engine may judge, as in `load_tokenizer`.
            path: The file that it was read from, if any; configs that name control tokens may lie beside it.
            control: The control ids, where they are known already.

        Raises:
            TokenizerError: The reference cannot load the data, it has ``dropout`` and that is not ignored, or the fast
                engine is asked for and not proven.
        """
        self._data = data
        self._encode_special_tokens = encode_special_tokens
        self._ignore_dropout = ignore_dropout
        self._path = None if path is None else path.absolute()  # whatever the working directory will be
        self._control = control
        self._distrusted: str | None = None
        self.source = source
        if not isinstance(data, bytes):
            self.sha256 = data.sha256
            self.core = data
            self._choose(engine)
            return
        self.sha256 = hashlib.sha256(data).hexdigest()
        try:
            self.core = _core.Tokenizer.from_json(
                data, encode_special_tokens=encode_special_tokens, ignore_dropout=ignore_dropout
            )
        except TokenizerError as error:
            raise TokenizerError(f"{inert(source)}: {inert(str(error))}") from error
        self._choose(engine)

    def with_engine(self, engine: EngineChoice) -> Tokenizer:
        """Return the same tokenizer, nothing loaded again, with another choice of engine; as in `load_tokenizer`.

        Raises:
            TokenizerError: The fast engine is asked for and not proven.
            ValueError: There is no such choice.
        """
        other = object.__new__(Tokenizer)
        other.__dict__.update(self.__dict__)
        other._choose(engine)
        return other

    def _choose(self, engine: EngineChoice) -> None:
        if engine not in get_args(EngineChoice):
            allowed = ", ".join(map(repr, get_args(EngineChoice)))
            raise ValueError(f"engine={shown(engine)}: one of {allowed} is needed")
        self._choice = engine
        self.recheck_row, self.recheck_batch = Recheck(least=LEAST), Recheck()
        if engine == "fast" and self.not_fast is not None:
            raise TokenizerError(
                f"{inert(self.source)}: no fast engine judges with it: {inert(self.not_fast)}; pass engine='auto' to "
                "do without one"
            )

    @property
    def engine(self) -> Literal["fast", "reference", "python"]:
        """Who judges where it can.

        ``"fast"`` is an engine that is proven to answer as the reference does, for this tokenizer; rows that its proof
        does not cover go to the reference (`Batch.engine` says which). ``"reference"`` is the Rust crate, ``"python"``
        the object itself, row by row and slowly.
        """
        if not isinstance(self._data, bytes):
            return "python"
        return "fast" if self.not_fast is None else "reference"

    @property
    def not_fast(self) -> str | None:
        """Why no fast engine judges, in words; None where one does."""
        if not isinstance(self._data, bytes):
            return "an object with encode and decode judges itself"
        if self._choice == "reference":
            return self._distrusted or "the reference was asked for"
        return self._distrusted or self.reference.not_fast

    @property
    def demoted(self) -> bool:
        """A fast engine of its kind is proven, and yet its self-test found a difference when it was loaded."""
        return isinstance(self._data, bytes) and self.reference.demoted

    @property
    def allowed(self) -> EngineChoice:
        """Which engine the core is asked for."""
        return "auto" if self.engine == "fast" else "reference"

    def distrust(self, reason: str) -> None:
        """Let the reference judge from now on, since the fast engine was found to differ from it."""
        self._distrusted = reason

    @property
    def vocab_size(self) -> int:
        """Number of ids, added tokens included; 0 for an object of Python that does not tell."""
        return self.core.vocab_size

    @property
    def model(self) -> str:
        """Kind of model: ``"BPE"``, ``"Unigram"``, ``"WordPiece"`` or ``"WordLevel"``; of an object its type's name."""
        return self.core.model

    @property
    def changed(self) -> tuple[str, ...]:
        """Settings of the file that were switched off: of ``"truncation"``, ``"padding"``, ``"dropout"``."""
        return tuple(self.core.changed)

    @lazy
    def joins_bytes(self) -> bool:
        """Decoding does no more than join the bytes of the tokens: the decoder is a byte-level one."""
        from tito_audit.loading.fingerprint import sections  # noqa: PLC0415 - few ask for it

        decoder = sections(self._data).get("decoder") if isinstance(self._data, bytes) else None
        return isinstance(decoder, dict) and decoder.get("type") == "ByteLevel"

    @lazy
    def special_ids(self) -> frozenset[int]:
        """Ids of the special added tokens (control tokens)."""
        return frozenset(id_ for id_, _, special in self.core.added_tokens if special)

    @lazy
    def added_ids(self) -> frozenset[int]:
        """Ids of all added tokens, special or not."""
        return frozenset(id_ for id_, _, _ in self.core.added_tokens)

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that it was read from, the main one first, which nothing may replace; none where it was in memory."""
        return () if self._path is None else tokenizer_files(self._path)

    @lazy
    def control(self) -> ControlIds:
        """Control ids: from the configs beside the file, its post-processor, or the object; empty where unknown."""
        if self._control is not None or not isinstance(self._data, bytes):
            return self._control or ControlIds()
        return of_files(self._data, None if self._path is None else self._path.parent, self._id_of)

    @lazy
    def fingerprint(self) -> dict[str, str]:
        """Component to hash of what it means: normalizer, pre_tokenizer, model, added_tokens, decoder, probe.

        Of an object of Python: model (its ``sha256``), added_tokens and probe. `fingerprint.differing` compares two.

        Raises:
            TokenizerError: The tokenizer cannot encode the probe.
        """
        from tito_audit.loading import fingerprint  # noqa: PLC0415 - few ask for it

        if isinstance(self._data, bytes):
            return fingerprint.of_serialised(
                self._data, self.reference, encode_special_tokens=self._encode_special_tokens
            )
        return fingerprint.of_object(self._data)

    @property
    def serialised(self) -> bytes | None:
        """Content of the ``tokenizer.json``, or what an object was serialised or converted to; None where none is."""
        return self._data if isinstance(self._data, bytes) else None

    @property
    def reference(self) -> _core.Tokenizer:
        """The reference engine.

        Raises:
            TokenizerError: An object of Python judges itself.
        """
        if isinstance(self._data, bytes):
            return cast("_core.Tokenizer", self.core)
        raise TokenizerError(f"{inert(self.source)} is not in the reference engine: load it from a tokenizer.json")

    @lazy
    def skew(self) -> str | None:
        """What to know where the installed ``tokenizers`` wheel is of another minor version (TITO003), else None."""
        if self.engine == "python":
            return None
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
        """Name the source, the model, the size and the engine."""
        what = f"{inert(self.source)} {self.model} {counted(self.vocab_size, 'id')} sha256:{self.sha256[:8]}"
        return f"<Tokenizer {what} {self.engine} engine>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the bytes: the engine itself does not travel, nor do the files beside them."""
        choice = (self._choice, self._distrusted)
        options = (self._encode_special_tokens, self._ignore_dropout)
        return _rebuild, (self._data, self.source, *options, choice, self.control, self._path)

    def _id_of(self, text: str) -> int | None:
        """Id of the token that is spelled like a text, None where there is none."""
        for id_, content, _ in self.core.added_tokens:
            if content == text:
                return id_
        try:
            ids = self.core.encode(text).tolist()
        except (TokenizerError, UnicodeEncodeError):  # JSON may hold half a surrogate pair
            return None
        return ids[0] if len(ids) == 1 and self.core.token_bytes(ids[0]) == text.encode() else None


def load_tokenizer(
    source: object, *, revision: str | None = None, ignore_dropout: bool = False, engine: EngineChoice = "auto"
) -> Tokenizer:
    """Load a tokenizer into the reference engine (the Rust ``tokenizers`` crate), or wrap an object that has its own.

    Where a fast engine is proven to give the reference's answers with it, that one judges, and some of its rows are
    judged again by the reference: a difference is the finding TITO010, an `EngineWarning`, and from then on the
    reference judges alone. `Tokenizer.engine` says who judges, `Tokenizer.not_fast` why not the fast engine.

    Truncation and padding are cleared, since no audit wants them; `Tokenizer.changed` names what was. Where a
    ``tokenizer_config.json`` or the object switches ``clean_up_tokenization_spaces`` on, a `TokenizerWarning` says what
    that does to decoded text. What is converted (tiktoken, SentencePiece) is compared with its original on thousands of
    texts and id sequences, every code point of the first plane among them. Where it differs, a tiktoken encoding is
    refused, and a SentencePiece model answers itself like any object, with a `TokenizerWarning`.

    Args:
        source: One of

            - the path of a ``tokenizer.json``, or a folder that holds one;
            - a hub id such as ``"Qwen/Qwen3-8B"``: a string that is no existing path;
            - a ``tokenizers.Tokenizer``, or a fast tokenizer of ``transformers``; what serialising drops is kept
              (``encode_special_tokens``, ``split_special_tokens``);
            - a ``tiktoken.Encoding``, or the path of a file of ranks that is known (``cl100k_base.tiktoken``). Special
              tokens are encoded as such, as ``allowed_special="all"`` does. One that is refused answers itself as
              ``types.SimpleNamespace(encode=enc.encode, decode=enc.decode, n_vocab=enc.n_vocab)``;
            - the path of a SentencePiece ``tokenizer.model`` (extra ``hf``): a BPE without a character map runs in the
              reference, others answer themselves;
            - any object with ``encode(text)`` and ``decode(ids)``: it answers itself, row by row and slowly, and a
              `TokenizerWarning` says what such an audit lacks (causes other than unknown-id and merge, places on the
              text, straddling tokens, provenance);
            - what `load_tokenizer` has returned, which comes back as it is, or with another ``engine``.
        revision: Branch, tag or commit of a hub id.
        ignore_dropout: Audit a model that has ``dropout`` as if it had none. Encoding with dropout is random, so
            there is no answer otherwise.
        engine: Which engine may judge: ``"auto"``, the fast one where it is proven, else the reference; ``"fast"``,
            the same, but a tokenizer without a proven one is refused; ``"reference"``, the reference alone.

    Raises:
        TokenizerError: No tokenizer there, the reference cannot load it, it has ``dropout``, the conversion of a
            tiktoken encoding differs from it, a package that reads it is missing or crashes, or ``engine`` is
            ``"fast"`` and none is proven.
        ValueError: There is no such engine.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, models
        >>> tito.load_tokenizer(Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))).vocab_size
        2
    """
    if isinstance(source, Tokenizer):
        return source if engine == "auto" else source.with_engine(engine)
    from tito_audit.loading import dispatch as loading  # noqa: PLC0415 - it makes what is defined here

    tokenizer, warning = loading.load(source, revision=revision, ignore_dropout=ignore_dropout)
    if warning is not None:
        warnings.warn(warning, TokenizerWarning, stacklevel=2)
    if tokenizer.demoted and engine == "auto":
        warnings.warn(
            f"{inert(tokenizer.source)}: the fast engine does not answer as the reference does, so the reference "
            f"judges; please report it: {inert(str(tokenizer.not_fast))}",
            TokenizerWarning,
            stacklevel=2,
        )
    return tokenizer if engine == "auto" else tokenizer.with_engine(engine)


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


def _rebuild(
    data: bytes | PythonEngine,
    source: str,
    encode_special_tokens: bool,  # noqa: FBT001 - pickle passes by place
    ignore_dropout: bool,  # noqa: FBT001 - as above
    choice: tuple[EngineChoice, str | None],
    control: ControlIds,
    path: Path | None,
) -> Tokenizer:
    engine, distrusted = choice
    tokenizer = Tokenizer(
        data,
        source,
        encode_special_tokens=encode_special_tokens,
        ignore_dropout=ignore_dropout,
        engine=engine,
        control=control,
        path=path,
    )
    if distrusted is not None:
        tokenizer.distrust(distrusted)
    return tokenizer
