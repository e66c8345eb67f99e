"""Settings of every test, and the file of a small tokenizer."""

import os
import signal

import pytest
from hypothesis import settings

from tiny import bpe

# A loaded machine is no failure. In CI a change is judged by the same examples each time; elsewhere by new ones.
settings.register_profile("tito_audit", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tito_audit")

# What a shell starts in the background ignores interrupts, and so do its children, which some tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    bpe(["b", "T", "a", "x", "aa"], [("a", "a")], special=["<e>"]).save(str(path))
    return str(path)
