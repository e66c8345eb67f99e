"""Checks on arrays that another thread keeps changing: any verdict is right then, a fault or a hang never is."""

import threading
import time

import numpy as np
from numpy.typing import NDArray

import tito_audit as tito

ROWS, TOKENS = 40, 200
ODD = np.array([-1, -(2**63), 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1])


def hammer(tok: tito.Tokenizer, seconds: float) -> int:
    """Check and trace rows while their ids change; give the number of rounds.

    A last check of the ids as they were left must be what a check of a copy is.
    """
    ids = np.zeros(ROWS * TOKENS, dtype=np.int64)
    offsets = np.arange(ROWS + 1, dtype=np.int64) * TOKENS
    stop = threading.Event()
    changer = threading.Thread(target=_change, args=(ids, tok.vocab_size, stop), daemon=True)
    changer.start()
    until = time.monotonic() + seconds
    rounds = 0
    try:
        while time.monotonic() < until:
            mask = np.arange(len(ids)) // 3 % 2
            batch = tito.check_batch((ids, offsets), tok, mask=mask, threads=2)
            traced = tito.provenance_batch((ids, offsets), tok, owners=mask, threads=2)
            assert len(batch.drifted) == len(traced) == ROWS
            assert batch.reencoded_offsets[-1] == len(batch.reencoded_ids)
            rounds += 1
    finally:
        stop.set()
        changer.join()
    left = tito.check_batch((ids, offsets), tok)
    again = tito.check_batch((ids.copy(), offsets), tok)
    assert np.array_equal(left.drifted, again.drifted)
    assert np.array_equal(left.reencoded_ids, again.reencoded_ids)
    return rounds


def _change(ids: NDArray[np.int64], vocab_size: int, stop: threading.Event) -> None:
    rng = np.random.default_rng(3)
    while not stop.is_set():
        start = int(rng.integers(0, len(ids) - 50))
        ids[start : start + 50] = rng.integers(0, vocab_size, 50)
        ids[int(rng.integers(0, len(ids)))] = rng.choice(ODD)
