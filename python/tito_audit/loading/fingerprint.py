"""What a tokenizer is, component by component: hashes of meaning, so that two files that mean the same agree.

Key order, spacing, absent keys and their defaults, the old and the new spelling of merges, truncation and padding do
not count. The probe is what no component tells: how the reference itself encodes a fixed text.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tito_audit import _core
    from tito_audit.loading.python_engine import PythonEngine

COMPONENTS = ("normalizer", "pre_tokenizer", "model", "added_tokens", "decoder", "probe")
"""Components of a fingerprint; an object of Python has model, added_tokens and probe only."""

PROBE = (
    "Hello, world!  It's 12:34:56 on 2024-01-31; e\u0301 é ﬁ ½ \uff21\n\n\tdef f(x):\n        return x**2 # naïve\r\n"
    "日本語と中文 한국어 привет мир שלום नमस्ते 🙂👩\u200d👩\u200d👧 'LL don't WE'VE ...   <|im_end|></s>[SEP] "
)
"""The text whose ids are the probe. It never changes: locks hold its hash."""

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
# What a component means where the key is absent; files of different age write or omit these.
_DEFAULTS: dict[str, dict[str, object]] = {
    "ByteLevel": {"use_regex": True},
    "Digits": {"individual_digits": False},
    "Metaspace": {"prepend_scheme": "always", "split": True, "replacement": "▁"},
    "Split": {"invert": False},
}
_WITHOUT_EFFECT = {"trim_offsets", "str_rep"}


def sections(data: bytes) -> dict[str, Any]:
    """Read the small sections of a ``tokenizer.json``: all but vocabulary, merges, added tokens."""
    raw = _raw(data)
    names = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
    return {name: _decoded(raw[name]) for name in names if name in raw}


def of_serialised(data: bytes, core: _core.Tokenizer, *, encode_special_tokens: bool) -> dict[str, str]:
    """Fingerprint of a ``tokenizer.json`` as the reference loaded it.

    Args:
        data: Its content.
        core: The same, loaded.
        encode_special_tokens: How it was loaded; counts as part of the added tokens.
    """
    raw = _raw(data)
    small = sections(data)
    added = _decoded(raw.get("added_tokens", b"[]")) or []
    flags = {token["content"]: [_flag(token, flag) for flag in _FLAGS] for token in added}
    return {
        "normalizer": _hash(_meant(small.get("normalizer"))),
        "pre_tokenizer": _hash(_meant(small.get("pre_tokenizer"))),
        "model": _hash(_model(_raw(raw.get("model", b"{}")), core.model)),
        "added_tokens": _hash([encode_special_tokens, *([*token, flags.get(token[1])] for token in core.added_tokens)]),
        "decoder": _hash(_meant(_without_options(small.get("decoder")))),
        "probe": of_probe(core.encode(PROBE)),
    }


def of_object(engine: PythonEngine) -> dict[str, str]:
    """Fingerprint of an engine that has no components: its vocabulary, its added tokens, and the probe."""
    return {
        "model": engine.sha256,
        "added_tokens": _hash([list(token) for token in engine.added_tokens]),
        "probe": of_probe(engine.encode(PROBE)),
    }


def of_probe(ids: NDArray[np.uint32]) -> str:
    """Hash the ids of `PROBE`."""
    return _hash(ids.tolist())


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Name the components in which two fingerprints differ, the one that only one of them has included.

    Example:
        >>> differing({"model": "5f", "probe": "a1"}, {"model": "5f", "probe": "b2"})
        ['probe']
    """
    names = [*COMPONENTS, *sorted({*one, *other} - set(COMPONENTS))]
    return [name for name in names if one.get(name) != other.get(name)]


def _raw(data: bytes) -> dict[str, bytes]:
    """The members of an object, undecoded: of a file of many megabytes little is looked at."""
    import msgspec  # noqa: PLC0415 - importing the package must not load it

    try:
        return {name: bytes(raw) for name, raw in msgspec.json.decode(data, type=dict[str, msgspec.Raw]).items()}
    except (msgspec.MsgspecError, RecursionError):
        return {}


def _decoded(data: bytes) -> Any:  # noqa: ANN401 - any JSON
    import msgspec  # noqa: PLC0415 - as above

    return msgspec.json.decode(data)


def _model(parts: dict[str, bytes], kind: str) -> list[object]:
    settings = {name: _decoded(value) for name, value in parts.items() if name not in {"vocab", "merges"}}
    settings["type"] = kind
    vocab, merges = _decoded(parts.get("vocab", b"{}")), _decoded(parts.get("merges", b"[]"))
    absent: tuple[object, ...] = (None, False, "") if kind == "BPE" else (None, False)
    return [
        {name: value for name, value in settings.items() if value not in absent},
        # The order of a vocabulary that is a mapping means nothing; that of one with scores is its ids.
        sorted(vocab.items(), key=lambda item: (item[1], item[0])) if isinstance(vocab, dict) else vocab,
        [merge.split(" ") if isinstance(merge, str) else merge for merge in merges],
    ]


def _meant(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """A component without what has no effect and without defaults written out."""
    if isinstance(value, list):
        return [_meant(item) for item in value]
    if not isinstance(value, dict):
        return value
    settings = dict(value)
    kind = settings.get("type")
    if kind == "Metaspace" and "prepend_scheme" not in settings:  # as files before that option say it
        settings["prepend_scheme"] = "always" if settings.get("add_prefix_space", True) else "never"
    if kind == "Metaspace":
        settings.pop("add_prefix_space", None)
    defaults = _DEFAULTS.get(str(kind), {})
    return {
        name: _meant(item)
        for name, item in settings.items()
        if item is not None and name not in _WITHOUT_EFFECT and not (name in defaults and defaults[name] == item)
    }


def _without_options(decoder: Any) -> Any:  # noqa: ANN401 - any JSON
    """A decoder; byte-level ones have options that mean something to the pre-tokenizer of that name only."""
    if isinstance(decoder, list):
        return [_without_options(item) for item in decoder]
    if not isinstance(decoder, dict):
        return decoder
    if decoder.get("type") == "ByteLevel":
        return {"type": "ByteLevel"}
    return {name: _without_options(item) for name, item in decoder.items()}


def _flag(token: dict[str, Any], flag: str) -> bool:
    return bool(token.get(flag, flag == "normalized" and not token.get("special", False)))


def _hash(value: object) -> str:
    import msgspec  # noqa: PLC0415 - as above

    # Vocabularies are lists by now, so sorting the keys costs nothing.
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
