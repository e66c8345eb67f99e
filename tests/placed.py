"""Where the re-encoded tokens lie on D, by walking over its bytes.

Each re-encoded token says what it covers: an added token its content (and the white space that it swallowed), a
byte-level piece the bytes of GPT-2's table, a byte token one byte, any other piece its characters, where `▁` is a
space. The walk succeeds only where the pieces tile D, so a text that the normalizer changed is noticed by itself;
NFC is then tried cluster by cluster, and nothing is known where that fails too.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tokenizers import AddedToken, Tokenizer

from tracked import byte_table, fallback_byte

MARK = "▁"
SPACE = 0x20
SPACE_REMOVERS = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")

Range = tuple[int, int]


class Lost(Exception):  # noqa: N818 - not an error: the text was changed on the way
    """The tokens do not tile D."""


def stages(spec: dict[str, Any] | None, children: str) -> list[dict[str, Any]]:
    """A pipeline part as a flat list."""
    if spec is None:
        return []
    return [stage for inner in spec[children] for stage in stages(inner, children)] if children in spec else [spec]


def is_space(char: str) -> bool:
    """Unicode's White_Space (Python adds four control characters)."""
    return char.isspace() and not "\x1c" <= char <= "\x1f"


class Placer:
    """One tokenizer's view of how re-encoded tokens cover D."""

    def __init__(self, wheel: Tokenizer, spec: dict[str, Any]) -> None:
        model = spec["model"]
        normalizers = stages(spec["normalizer"], "normalizers")
        splits = stages(spec["pre_tokenizer"], "pretokenizers")
        kinds = [split["type"] for split in splits]
        self._wheel = wheel
        self._added: dict[int, AddedToken] = wheel.get_added_tokens_decoder()
        self._fallback = bool(model.get("byte_fallback"))
        self._prefix = model.get("continuing_subword_prefix") or ""
        self._suffix = model.get("end_of_word_suffix") or ""
        self._unknown = wheel.token_to_id(model["unk_token"]) if model.get("unk_token") else model.get("unk_id")
        self._byte_level = "ByteLevel" in kinds
        self._only_nfc = bool(normalizers) and all(stage["type"] == "NFC" for stage in normalizers)
        self._removes_space = any(kind in SPACE_REMOVERS for kind in kinds)
        self._drops = model.get("type", "BPE") == "BPE" and self._unknown is None and not self._fallback
        self._vocab = model["vocab"] if self._drops else {}
        self._normalizes_to_marks = any(s["type"] == "Replace" and s["content"] == MARK for s in normalizers)
        self._marks = "Metaspace" in kinds or self._normalizes_to_marks
        self._prepends_always = any(stage == {"type": "Prepend", "prepend": MARK} for stage in normalizers)
        metaspace = next((split for split in splits if split["type"] == "Metaspace"), {})
        self._scheme = metaspace.get("prepend_scheme", "always" if metaspace.get("add_prefix_space") else "never")
        prefixed = any(split["type"] == "ByteLevel" and split["add_prefix_space"] for split in splits)
        self._prefix_space = prefixed
        # Where a space is put before each of several splits, D does not say which of its spaces is which.
        self._known = len(splits) == 1 or not (metaspace or prefixed)

    def place(self, text: str, ids: Sequence[int]) -> list[Range] | None:
        """Byte range of every token on the text, None where that cannot be said."""
        if not self._known:
            return None
        try:
            return list(self._walk(text, ids))
        except Lost:
            if not (self._only_nfc and self._byte_level):
                return None
        try:
            return list(self._walk_nfc(text.encode(), ids))
        except Lost:
            return None

    def _walk(self, text: str, ids: Sequence[int]) -> Iterator[Range]:
        data = text.encode()
        at = swallowed = 0
        fresh = True
        offsets: list[Range] | None = None
        for index, token in enumerate(ids):
            added = self._added.get(token)
            piece = self._piece(token)
            if token == self._unknown and not (added and data.startswith(piece.encode(), at)):
                if self._byte_level:
                    raise Lost
                offsets = offsets or self._offsets(text, ids)
                start, at = offsets[index]
                swallowed, fresh = at, False
            elif added and self._stands(data, at, added):
                # The reference matches an added token also inside the spaces that the one before it swallowed.
                inside = data.find(added.content.encode(), swallowed, at)
                start, swallowed, at = self._added_range(data, inside if inside >= 0 else at, added)
                fresh = not (added.normalized and self._prepends_always)
            else:
                start, at = self._piece_range(data, at, piece, fresh=fresh, inner=index > 0)
                swallowed, fresh = at, bool(added) and not self._prepends_always
            yield start, at
        while at < len(data):
            at = self._skip(data, at)

    def _piece(self, token: int) -> str:
        piece = self._wheel.id_to_token(token)
        if piece is None:
            raise Lost
        return piece

    def _offsets(self, text: str, ids: Sequence[int]) -> list[Range]:
        """The wheel's own offsets, in bytes: the only word on how much an unknown token covers."""
        encoding = self._wheel.encode(text, add_special_tokens=False)
        if encoding.ids != list(ids):
            raise Lost
        return [(len(text[:start].encode()), len(text[:stop].encode())) for start, stop in encoding.offsets]

    def _stands(self, data: bytes, at: int, added: AddedToken) -> bool:
        """Whether an added token was found by its own text; the model's merges may give its id as well."""
        if added.normalized and self._normalizes_to_marks:
            return False
        return data.startswith(added.content.encode(), at) or MARK not in added.content

    def _added_range(self, data: bytes, at: int, added: AddedToken) -> tuple[int, int, int]:
        """First byte, end of the content, and end of the spaces that went with it."""
        content = added.content.encode()
        start = at
        while not data.startswith(content, at):
            at = self._space(data, at) if added.lstrip else self._skip(data, at)
            start = start if added.lstrip else at
        at += len(content)
        end = at
        while added.rstrip and at < len(data) and is_space(_char(data, at)):
            at = self._space(data, at)
        return start, end, at

    def _piece_range(self, data: bytes, at: int, piece: str, *, fresh: bool, inner: bool) -> Range:
        if self._fallback and (byte := fallback_byte(piece)) is not None:
            return self._match(data, at, [bytes([byte])])
        if self._byte_level:
            parts = [bytes([byte_table()[char]]) for char in piece if char in byte_table()]
            if len(parts) != len(piece):
                raise Lost
            if fresh and self._prefix_space and data[at : at + 1] != b" ":
                parts = _without(parts, b" ")
            return self._match(data, at, parts)
        if inner and self._prefix:
            piece = piece.removeprefix(self._prefix)
        parts = [char.encode() for char in piece.removesuffix(self._suffix)]
        if fresh and self._prepends(data, at):
            parts = _without(parts, MARK.encode())
        return self._match(data, at, parts)

    def _prepends(self, data: bytes, at: int) -> bool:
        """Whether the encoder puts a space of its own before the segment that starts here."""
        if self._prepends_always:
            return True
        if self._scheme == "never" or (self._scheme == "first" and at > 0):
            return False
        return not data.startswith((b" ", MARK.encode()), at)

    def _match(self, data: bytes, at: int, parts: Sequence[bytes]) -> Range:
        """Match the parts one by one; what the encoder drops may lie before and between them."""
        start = None
        for part in parts:
            while not data.startswith(part, at):
                if self._marks and part == MARK.encode() and data[at : at + 1] == b" ":
                    part = b" "  # noqa: PLW2901 - the same part as it stands in D
                    break
                if start is not None and not self._drops:
                    raise Lost
                at = self._skip(data, at)
            start = at if start is None else start
            at += len(part)
        return (at if start is None else start), at

    def _skip(self, data: bytes, at: int) -> int:
        """Step over what the encoder drops: white space between words, symbols that the vocabulary lacks."""
        if at == len(data):
            raise Lost
        if self._removes_space:
            return self._space(data, at)
        if self._drops and self._byte_level:
            symbol = next(char for char, byte in byte_table().items() if byte == data[at])
            if symbol not in self._vocab:
                return at + 1
        elif self._drops and (char := _char(data, at)) not in self._vocab:
            return at + len(char.encode())
        raise Lost

    def _space(self, data: bytes, at: int) -> int:
        if at == len(data) or not is_space(_char(data, at)):
            raise Lost
        return at + len(_char(data, at).encode())

    def _walk_nfc(self, data: bytes, ids: Sequence[int]) -> Iterator[Range]:
        """Place byte-level tokens on a text that NFC changes, segment by segment between the added tokens."""
        at = 0
        edges = [index for index, token in enumerate(ids) if token in self._added]
        for start, stop in pairwise([-1, *edges, len(ids)]):
            pieces = [bytes(byte_table()[char] for char in self._piece(token)) for token in ids[start + 1 : stop]]
            content = self._added[ids[stop]].content.encode() if stop < len(ids) else b""
            segment = self._segment(data, at, b"".join(pieces), content)
            places = nfc_places(segment.decode())
            if b"".join(bytes([byte]) for byte, _ in places) != b"".join(pieces):
                raise Lost
            done = 0
            for piece in pieces:
                own = [place for _, place in places[done : done + len(piece)]]
                yield at + own[0][0], at + own[-1][1]
                done += len(piece)
            at += len(segment)
            if stop < len(ids):
                yield at, at + len(content)
                at += len(content)

    def _segment(self, data: bytes, at: int, normal: bytes, content: bytes) -> bytes:
        """The part of D before the next added token: the first that is normalized to what was encoded."""
        end = data.find(content, at) if content else len(data)
        while end >= 0:
            if self._wheel.normalizer.normalize_str(data[at:end].decode()).encode() == normal:
                return data[at:end]
            end = data.find(content, end + 1) if content else -1
        raise Lost


def nfc_places(text: str) -> list[tuple[int, Range]]:
    """NFC of a text, each byte with the bytes of the text that it stands for.

    A character that was composed, taken apart or moved stands for all that took part, any other for itself.
    """
    out: list[tuple[int, Range]] = []
    at = 0
    for cluster in nfc_clusters(text):
        normal = unicodedata.normalize("NFC", cluster)
        head = 0
        while head < min(len(cluster), len(normal)) and cluster[head] == normal[head]:
            head += 1
        tail = 0
        while tail < min(len(cluster), len(normal)) - head and cluster[-1 - tail] == normal[-1 - tail]:
            tail += 1
        size = len(cluster.encode())
        first, last = len(cluster[:head].encode()), size - len(cluster[len(cluster) - tail :].encode())
        before = normal[:head].encode()
        after = normal[len(normal) - tail :].encode()
        inside = normal[head : len(normal) - tail].encode()
        out += [(byte, (at + index, at + index + 1)) for index, byte in enumerate(before)]
        out += [(byte, (at + first, at + last)) for byte in inside]
        out += [(byte, (at + last + index, at + last + index + 1)) for index, byte in enumerate(after)]
        at += size
    return out


def nfc_clusters(text: str) -> Iterator[str]:
    """Cut a text where NFC never reaches across."""
    cluster = ""
    for char in text:
        alone = unicodedata.normalize("NFC", cluster) + unicodedata.normalize("NFC", char)
        if cluster and not unicodedata.combining(char) and unicodedata.normalize("NFC", cluster + char) == alone:
            yield cluster
            cluster = ""
        cluster += char
    if cluster:
        yield cluster


def _char(data: bytes, at: int) -> str:
    return data[at : at + 4].decode(errors="ignore")[0]


def _without(parts: list[bytes], first: bytes) -> list[bytes]:
    if not parts or parts[0] != first:
        raise Lost
    return parts[1:]
