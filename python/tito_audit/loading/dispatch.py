"""What a source of a tokenizer is, and how it is loaded; `load_tokenizer` is the public face."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tito_audit.errors import TokenizerError
from tito_audit.loading.control import CONFIG_FILE, TOKENIZER_FILE, ControlIds, of_object, read_json
from tito_audit.loading.panics import is_panic
from tito_audit.printable import inert
from tito_audit.records import shown
from tito_audit.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tito_audit.loading.comparison import Converted


_LACKS = (
    ", one row after another: slow, and its report has one wide span a drifting row, called unknown-id or merge "
    "whatever the cause, and no places on the text, no straddling tokens and no provenance"
)


class Loaded(NamedTuple):
    """A tokenizer, and what to warn of."""

    tokenizer: Tokenizer
    warning: str | None = None


def load(source: object, *, revision: str | None, ignore_dropout: bool) -> Loaded:
    """Load any source; arguments and errors as in `load_tokenizer`. A panic of a package that reads it is an error."""
    try:
        return _load(source, revision=revision, ignore_dropout=ignore_dropout)
    except BaseException as error:
        if not is_panic(error):
            raise
        raise TokenizerError(
            f"{shown(source)}: a package that reads it crashed ({inert(str(error))[:300]}); report that to the "
            "package, or pass a tokenizer.json of the same model"
        ) from error


def _load(source: object, *, revision: str | None, ignore_dropout: bool) -> Loaded:
    if isinstance(source, str):
        from tito_audit.loading import hub  # noqa: PLC0415 - an object needs none of it

        if isinstance(source, hub.HubId) or (not os.path.lexists(source) and hub.is_id(source)):
            path = hub.download(source, revision)
            return _from_file(path, f"{source}@{path.parent.name[:12]}", ignore_dropout=ignore_dropout)
    if revision is not None:
        raise TokenizerError(f"revision {shown(revision)} is for hub ids; {shown(source)} is none")
    if isinstance(source, str | os.PathLike):
        path = _file(Path(source))
        return _from_file(path, str(path), ignore_dropout=ignore_dropout)
    return _from_object(source, ignore_dropout=ignore_dropout)


def _from_file(path: Path, source: str, *, ignore_dropout: bool) -> Loaded:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TokenizerError(f"{inert(str(path))}: cannot be read ({error.strerror})") from error
    converted = _converted_file(data, path)
    if converted is not None:
        return _compared(converted, source, path)
    config = path.with_name(CONFIG_FILE)
    cleans_up = read_json(config).get("clean_up_tokenization_spaces") is True
    tokenizer = Tokenizer(data, source, ignore_dropout=ignore_dropout, path=path)
    return Loaded(tokenizer, _cleanup(str(config)) if cleans_up else None)


def _converted_file(data: bytes, path: Path) -> Converted | None:
    """Convert what is no ``tokenizer.json``: by its content, since a ``tokenizer.model`` may be one of two things."""
    if path.suffix == ".json":
        return None
    from tito_audit.loading import sentencepiece_model, tiktoken_ranks  # noqa: PLC0415 - only other files need them

    if path.suffix == tiktoken_ranks.SUFFIX or tiktoken_ranks.is_ranks(data):
        return tiktoken_ranks.from_file(data, path)
    if path.suffix in sentencepiece_model.SUFFIXES and not data.lstrip().startswith(b"{"):
        return sentencepiece_model.from_file(data, path)
    return None


def _from_object(source: object, *, ignore_dropout: bool) -> Loaded:
    # An object of these types can only exist once its package is imported, so nothing is imported to ask.
    wheel, tiktoken = sys.modules.get("tokenizers"), sys.modules.get("tiktoken")
    if wheel is not None:
        if isinstance(source, wheel.Tokenizer):
            return _from_wheel(source, source, ignore_dropout=ignore_dropout)
        for name in ("backend_tokenizer", "_tokenizer"):  # of transformers, and of tokenizers.implementations
            inner = getattr(source, name, None) if not isinstance(source, type) else None
            if isinstance(inner, wheel.Tokenizer):
                return _from_wheel(inner, source, ignore_dropout=ignore_dropout)
    if tiktoken is not None and isinstance(source, tiktoken.Encoding):
        from tito_audit.loading import tiktoken_ranks  # noqa: PLC0415 - only such an object needs it

        name = f"tiktoken {source.name}"
        return _compared(tiktoken_ranks.from_encoding(source, name), name)
    from tito_audit.loading import python_object  # noqa: PLC0415 - only other objects need it

    if not python_object.looks_like_one(source):
        raise TokenizerError(
            f"no tokenizer in {shown(source)} (accepted: the path of a {TOKENIZER_FILE}, a folder that holds one, a "
            "hub id, a tokenizers.Tokenizer, a fast tokenizer of transformers, a tiktoken.Encoding, any object with "
            "encode and decode)"
        )
    name = _type_name(source)
    return Loaded(
        _asked_itself(source, name, of_object(source)),
        f"{inert(name)} is asked itself{_LACKS}. A tokenizer.json, a tokenizers.Tokenizer or a fast tokenizer of "
        "transformers of the same model has all of them",
    )


def _from_wheel(wheel: Any, owner: object, *, ignore_dropout: bool) -> Loaded:  # noqa: ANN401 - a lazy package
    """Serialise a ``tokenizers.Tokenizer``; ``owner`` is it, or what wraps it and says how it is used."""
    try:
        data = wheel.to_str().encode()
    except Exception as error:  # the wheel raises no narrower type
        raise TokenizerError(
            f"{shown(owner)}: cannot be serialised ({inert(str(error))}): a custom component written in Python "
            "(normalizer, pre-tokenizer, decoder) exists in this process only; put components of the tokenizers "
            "package in its place and load again"
        ) from error
    name = _type_name(owner)
    cleans_up = getattr(owner, "clean_up_tokenization_spaces", None) is True
    tokenizer = Tokenizer(
        data,
        name,
        # transformers sets the wheel's option from its own before it encodes.
        encode_special_tokens=bool(getattr(owner, "split_special_tokens", wheel.encode_special_tokens)),
        ignore_dropout=ignore_dropout,
        control=None if owner is wheel else of_object(owner),
    )
    return Loaded(tokenizer, _cleanup(name) if cleans_up else None)


def _compared(converted: Converted, source: str, path: Path | None = None) -> Loaded:
    """Load what was converted, if it answers as its original does; else the original itself, or nothing."""
    try:
        return Loaded(_same(converted, source, path), converted.warning)
    except TokenizerError as error:
        said = str(error).removeprefix(f"{inert(source)}: ")
        if converted.original is None:
            raise TokenizerError(
                f"{inert(source)}: {said}, and nothing is audited with a tokenizer that only resembles yours. "
                f"{converted.way_out}"
            ) from error
    return Loaded(
        _asked_itself(converted.original, source, converted.control, path),
        f"{inert(source)}: {said}. So the original is asked itself{_LACKS}. {converted.way_out}",
    )


def _same(converted: Converted, source: str, path: Path | None) -> Tokenizer:
    if not isinstance(converted.data, bytes):
        raise converted.data
    tokenizer = Tokenizer(converted.data, source, control=converted.control, path=path)
    converted.compare(tokenizer.reference)
    return tokenizer


def _asked_itself(obj: object, name: str, control: ControlIds, path: Path | None = None) -> Tokenizer:
    from tito_audit.loading.python_engine import PythonEngine  # noqa: PLC0415 - few are

    return Tokenizer(PythonEngine(obj), name, control=control, path=path)


def _type_name(obj: object) -> str:
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


def _file(path: Path) -> Path:
    """Return the ``tokenizer.json`` that a path stands for."""
    name = inert(str(path))
    if path.is_dir():
        inside = path / TOKENIZER_FILE
        if inside.is_file():
            return inside
        found = ", ".join(sorted(inert(entry.name) for entry in path.iterdir())[:10]) or "nothing"
        raise TokenizerError(
            f"{name}: the folder holds no {TOKENIZER_FILE} (found: {found}); load it with transformers and pass the "
            "object (AutoTokenizer.from_pretrained; its save_pretrained writes that file), or pass the path of its "
            "tokenizer.model"
        )
    if not path.exists():
        raise TokenizerError(
            f"{name}: no such file or folder, and no hub id (those read like org/name); check the path"
        )
    return path


def _cleanup(setting: str) -> str:
    return (
        f"{inert(setting)} switches clean_up_tokenization_spaces on: transformers then removes spaces before "
        "punctuation when it decodes, and the text no longer encodes to the sampled ids. drifted counts a plain "
        "decode; to measure that pipeline too: clean_up_tokenization_spaces=True, on the command line "
        "--clean-up-tokenization-spaces"
    )
