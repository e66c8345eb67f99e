"""Being told to stop: the first time what was found is still written, and nothing disturbs that any more."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """A signal asked the process to end.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        """Keep which one."""
        super().__init__(number)
        self.number = number


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Let the first SIGINT, SIGTERM or SIGHUP break off the block, and ignore those after it.

    A second one would break off the partial report, and a thread that is just being stopped would be left behind.
    """
    if threading.current_thread() is not threading.main_thread():  # no other may say what signals do
        yield
        return
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]

    def stop(number: int, _: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # of one that was not set from Python nothing is known
                signal.signal(number, handler)
