"""Ids with a meaning for the sampler: begin of sequence, end of sequence, padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"
CONFIG_FILES = (CONFIG_FILE, "special_tokens_map.json", "generation_config.json", "config.json")
"""Files beside a ``tokenizer.json`` that name control tokens."""

_NAMES = ("bos", "eos", "pad")


class ControlIds(NamedTuple):
    """Control ids of a tokenizer; an empty set where none is known. A model may have several ends of sequence.

    Attributes:
        bos: Begin of sequence.
        eos: End of sequence, or of a turn: what ends sampling.
        pad: Padding.
    """

    bos: frozenset[int] = frozenset()
    eos: frozenset[int] = frozenset()
    pad: frozenset[int] = frozenset()

    @classmethod
    def of(cls, found: Mapping[str, Iterable[int | None]]) -> ControlIds:
        """Gather ids by name; None stands for no such id."""
        return cls(*(frozenset(id_ for id_ in found.get(name, ()) if id_ is not None) for name in _NAMES))


def of_object(obj: object) -> ControlIds:
    """Read ``bos_token_id`` and so on of an object, where it has them, or ``bos_id()`` and so on of SentencePiece."""
    return ControlIds.of(
        {name: [*_of_attribute(obj, f"{name}_token_id"), *_of_attribute(obj, f"{name}_id")] for name in _NAMES}
    )


def of_files(data: bytes, folder: Path | None, id_of: Callable[[str], int | None]) -> ControlIds:
    """Read the control ids of a ``tokenizer.json`` from the files beside it and from its post-processor.

    Args:
        data: Its content; the post-processor names what stands before a text (bos only: what it puts behind one need
            not end sampling).
        folder: Where it lies; None for nowhere.
        id_of: Gives the id of a token's text, None where it has none.
    """
    found: dict[str, list[int | None]] = {name: [] for name in _NAMES}
    for settings in [] if folder is None else [read_json(folder / file) for file in CONFIG_FILES]:
        inner = settings.get("text_config")  # where the config of a model for images and text keeps them
        for part in (settings, inner if isinstance(inner, dict) else {}):
            for name in _NAMES:
                found[name] += _ids(part.get(f"{name}_token_id"))
                found[name] += map(id_of, _surfaces(part.get(f"{name}_token")))
    found["bos"] += _leading(data, id_of)
    return ControlIds.of(found)


def tokenizer_files(path: Path) -> tuple[Path, ...]:
    """Name the files that a tokenizer is read from, the main one first; those beside it need not be there.

    Args:
        path: Its file, or the folder that holds it.
    """
    file = path / TOKENIZER_FILE if path.is_dir() else path
    return file, *(file.with_name(name) for name in CONFIG_FILES)


def read_json(path: Path) -> dict[str, Any]:
    """Read a config file; empty where there is none, or none that a library could read either."""
    import json  # noqa: PLC0415 - only a file on disk has a config beside it

    try:
        settings = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _of_attribute(obj: object, name: str) -> list[int | None]:
    try:
        value = getattr(obj, name, None)
        return _ids(value() if callable(value) else value)
    except Exception:  # noqa: BLE001 - a property of somebody else's object may raise anything
        return []


def _ids(value: object) -> list[int | None]:
    """Ids of a setting: a number or a list of numbers; anything else names none."""
    values = value if isinstance(value, list | tuple) else [value]
    return [id_ for id_ in values if isinstance(id_, int) and not isinstance(id_, bool) and 0 <= id_ < 1 << 32]


def _surfaces(value: object) -> list[str]:
    """Texts of a setting: a string, or an added token written out as a mapping."""
    text = value.get("content") if isinstance(value, dict) else value
    return [text] if isinstance(text, str) and text else []


def _leading(data: bytes, id_of: Callable[[str], int | None]) -> list[int | None]:
    """What the post-processor puts before a single text."""
    from tito_audit.loading.fingerprint import sections  # noqa: PLC0415 - fingerprints are asked for by few

    processor = sections(data).get("post_processor")
    steps = processor.get("processors", [processor]) if isinstance(processor, dict) else []
    found: list[int | None] = []
    for step in steps if isinstance(steps, list) else []:
        if not isinstance(step, dict):
            continue
        if step.get("type") == "TemplateProcessing":
            found += _before_text(step, id_of)
        elif isinstance(cls := step.get("cls"), list) and len(cls) == 2:  # BertProcessing and RobertaProcessing
            found += _ids(cls[1])
    return found


def _before_text(step: dict[str, Any], id_of: Callable[[str], int | None]) -> list[int | None]:
    single = step.get("single")
    first = single[0] if isinstance(single, list) and single else None
    if not isinstance(first, dict) or not isinstance(first.get("SpecialToken"), dict):
        return []
    name = first["SpecialToken"].get("id")
    listed = step.get("special_tokens")
    entry = listed.get(name) if isinstance(listed, dict) and isinstance(name, str) else None
    ids = _ids(entry.get("ids")) if isinstance(entry, dict) else []
    return ids or ([id_of(name)] if isinstance(name, str) else [])
