"""What packages with extensions raise: errors, and panics, which are no `Exception`."""

from __future__ import annotations


def is_failure(error: BaseException) -> bool:
    """Say whether something failed: an error or a panic (of pyo3), and no wish to stop (Ctrl-C, exit, cancelled)."""
    return isinstance(error, Exception) or is_panic(error)


def is_panic(error: BaseException) -> bool:
    """Say whether a Rust extension panicked; each brings a type of its own with that name."""
    return type(error).__module__ == "pyo3_runtime"
