"""Tokenizers of the zoo with one fault planted in each: what a search has to name."""

import json
from collections.abc import Callable
from typing import Any

from zoo import zoo

Spec = dict[str, Any]


def spec_of(kind: str) -> Spec:
    """The ``tokenizer.json`` of one kind."""
    spec: Spec = json.loads(zoo()[kind])
    return spec


def without_merge(spec: Spec, at: int) -> tuple[str, str]:
    """Drop a merge; give it."""
    merge = spec["model"]["merges"].pop(at)
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right


def patterns(node: Any, path: str = "pre_tokenizer") -> list[tuple[str, Spec]]:
    """Every splitting pattern below a pre-tokenizer: its path, and the mapping that holds it."""
    if isinstance(node, list):
        return [each for at, item in enumerate(node) for each in patterns(item, f"{path}[{at}]")]
    if not isinstance(node, dict):
        return []
    own = [(f"{path}.pattern.Regex", node["pattern"])] if "Regex" in (node.get("pattern") or {}) else []
    return own + [each for name in node if name != "pattern" for each in patterns(node[name], f"{path}.{name}")]


def with_other_digit(spec: Spec) -> tuple[str, str, str]:
    """Change one digit of a splitting pattern; give its path, the pattern as it was and as it is."""
    path, holder = next(each for each in patterns(spec["pre_tokenizer"]) if "{1,3}" in each[1]["Regex"])
    old = holder["Regex"]
    holder["Regex"] = old.replace("{1,3}", "{1,2}")
    return path, old, holder["Regex"]


def with_added_token(spec: Spec, content: str) -> int:
    """Add a token that no flag marks as control; give its id: that of the entry that is spelled so, or a new one."""
    vocab = spec["model"]["vocab"]
    id_: int = vocab.get(content, 1 + max([*vocab.values(), *(token["id"] for token in spec["added_tokens"])]))
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    spec["added_tokens"].append({"id": id_, "content": content, **flags})
    return id_


def with_nfc(spec: Spec) -> None:
    """Put NFC in front of what normalizes."""
    own = spec["normalizer"]
    steps = [] if own is None else own["normalizers"] if own["type"] == "Sequence" else [own]
    spec["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, *steps]} if steps else {"type": "NFC"}


PLANTED: dict[str, Callable[[Spec], object]] = {
    "merge": lambda spec: without_merge(spec, len(spec["model"]["merges"]) // 2),
    "digit": with_other_digit,
    "added": lambda spec: with_added_token(spec, "the"),
    "normalizer": with_nfc,
}
