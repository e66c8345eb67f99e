"""What a bench calls the peak memory of a command is that command's."""

import sys

from peak_memory import peak

MB = 1_000_000


def test_a_small_process_is_small_whoever_measures_it() -> None:
    held = b"x" * (200 * MB)
    code, _, most = peak([sys.executable, "-c", "pass"])
    assert (code, len(held)) == (0, 200 * MB)
    assert most < 100


def test_a_large_process_is_large() -> None:
    code, _, most = peak([sys.executable, "-c", f"b'x' * {150 * MB}; raise SystemExit(3)"])
    assert code == 3
    assert most > 150
