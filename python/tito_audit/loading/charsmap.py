"""The character map of a SentencePiece model: what its normalizer replaces, read from the compiled form.

The form is that of SentencePiece's ``normalizer.cc``: the size of a trie in four bytes, the trie as a double array of
``darts-clone``, then the replacements.
"""

from __future__ import annotations

import struct

_NO_LABEL = 1 << 31
_LONGEST = 64
"""Bytes of a key."""
_MOST_VISITS = 1_000_000
"""Nodes that are visited; a broken trie would spell without end."""


def keys(charsmap: bytes) -> list[str]:
    """Texts that a compiled map replaces, in order; nothing where it cannot be read."""
    units = _units(charsmap)
    if not units:
        return []
    children: dict[int, list[tuple[int, int]]] = {}
    for place, unit in enumerate(units):
        label = unit & 0xFF
        if label and not unit & _NO_LABEL:
            children.setdefault(place ^ label, []).append((label, place))
    found: list[bytes] = []
    waiting = [(_offset(units[0]), b"")]
    # Nodes with the same keys behind them are one node, so a node is met more than once.
    for _ in range(_MOST_VISITS):
        if not waiting:
            break
        base, spelled = waiting.pop()
        if len(spelled) == _LONGEST:
            continue
        for label, place in children.get(base, ()):
            key = spelled + bytes([label])
            if units[place] >> 8 & 1:
                found.append(key)
            waiting.append((place ^ _offset(units[place]), key))
    return sorted(filter(None, map(_text, found)))


def _units(charsmap: bytes) -> tuple[int, ...]:
    size = int.from_bytes(charsmap[:4], "little") if len(charsmap) >= 4 else 0
    trie = charsmap[4 : 4 + size]
    return struct.unpack(f"<{len(trie) // 4}I", trie[: len(trie) // 4 * 4])


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)


def _text(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return ""
