"""Digests of token ids, to compare what was sampled with what is trained on another machine."""

from __future__ import annotations

import hashlib

import numpy as np

from tito_audit.records import ReadIds, to_ids

_SIZE = 16


def digest(ids: object) -> str:
    """Hash one row of token ids: the same integers in any container give the same digest, on every machine.

    Args:
        ids: Integers, as in `tito_audit.check`.

    Returns:
        32 hex digits: BLAKE2b, 16 bytes, of the ids as little-endian ``int64``.

    Raises:
        RecordError: An entry is no integer.

    Example:
        >>> digest([1, 2, 3]) == digest((1, 2, 3)) != digest([1, 2])
        True
    """
    return digest_of(to_ids(ids))


def digest_of(read: ReadIds) -> str:
    """Hash ids that are read already, as `digest` does."""
    hashed = hashlib.blake2b(np.ascontiguousarray(read.ids, dtype="<i8").tobytes(), digest_size=_SIZE)
    for place, value in sorted(read.overflow.items()):  # which the array does not hold
        hashed.update(f"{place}:{value:x}".encode())
    return hashed.hexdigest()
