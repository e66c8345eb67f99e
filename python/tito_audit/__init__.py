"""Finds retokenization drift in LLM reinforcement-learning rollouts.

A sampler emits token ids; a pipeline that decodes them and encodes the text again may get other ids. This package says
where, why, and which values of a loss mask that breaks.

Example:
    >>> import tito_audit as tito
    >>> tok = tito.load_tokenizer("tokenizer.json")  # doctest: +SKIP
    >>> print(tito.check([9707, 198, 198], tok, mask=[0, 0, 1]))  # doctest: +SKIP
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tito_audit.uninterrupted import uninterrupted

with uninterrupted():  # an interrupt while the extension sets itself up would end it in a panic
    from tito_audit import _core

# `check`, `audit` and `provenance` are functions here and modules of the package too. They are imported at once, and
# not when they are first asked for, since importing a module later would put it over its function.
from tito_audit.audit import audit
from tito_audit.batch import Batch
from tito_audit.check import assert_no_drift, check, check_batch
from tito_audit.errors import (
    DriftError,
    DriftWarning,
    EngineWarning,
    MissingExtraError,
    RecordError,
    ReportError,
    SourceError,
    TitoError,
    TokenizerError,
    TokenizerWarning,
)
from tito_audit.findings import Finding
from tito_audit.provenance import Provenance, ProvenanceBatch, provenance, provenance_batch
from tito_audit.realised import Realised, RealisedSpan, assert_trained_ids
from tito_audit.results import Check, Pipeline, Span, Straddling
from tito_audit.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from tito_audit.bar import Bar
    from tito_audit.buffer import RolloutBuffer
    from tito_audit.guard import DriftGuard
    from tito_audit.recorder import Recorder
    from tito_audit.report import Report
    from tito_audit.signal.account import SignalAccount, signal_account
    from tito_audit.signal.logprobs import LogprobCheck, check_logprobs
    from tito_audit.signal.means import masked_mean
    from tito_audit.signal.paths import BothPaths, ratio_on_both_paths
    from tito_audit.signal.ratio import ImportanceRatio, importance_ratio, ratio_metrics
    from tito_audit.signal.step0 import Step0, step0_kl
    from tito_audit.signal.turns import DriftByTurn, drift_by_turn

__version__ = _core.__version__

__all__ = [
    "Bar",
    "Batch",
    "BothPaths",
    "Check",
    "DriftByTurn",
    "DriftError",
    "DriftGuard",
    "DriftWarning",
    "EngineWarning",
    "Finding",
    "ImportanceRatio",
    "LogprobCheck",
    "MissingExtraError",
    "Pipeline",
    "Provenance",
    "ProvenanceBatch",
    "Realised",
    "RealisedSpan",
    "RecordError",
    "Recorder",
    "Report",
    "ReportError",
    "RolloutBuffer",
    "SignalAccount",
    "SourceError",
    "Span",
    "Step0",
    "Straddling",
    "TitoError",
    "Tokenizer",
    "TokenizerError",
    "TokenizerWarning",
    "assert_no_drift",
    "assert_trained_ids",
    "audit",
    "check",
    "check_batch",
    "check_logprobs",
    "drift_by_turn",
    "importance_ratio",
    "load_tokenizer",
    "masked_mean",
    "provenance",
    "provenance_batch",
    "ratio_metrics",
    "ratio_on_both_paths",
    "signal_account",
    "step0_kl",
]

_LATE = {
    "Bar": "tito_audit.bar",
    "BothPaths": "tito_audit.signal.paths",
    "DriftByTurn": "tito_audit.signal.turns",
    "DriftGuard": "tito_audit.guard",
    "ImportanceRatio": "tito_audit.signal.ratio",
    "LogprobCheck": "tito_audit.signal.logprobs",
    "Recorder": "tito_audit.recorder",
    "Report": "tito_audit.report",
    "RolloutBuffer": "tito_audit.buffer",
    "SignalAccount": "tito_audit.signal.account",
    "Step0": "tito_audit.signal.step0",
    "check_logprobs": "tito_audit.signal.logprobs",
    "drift_by_turn": "tito_audit.signal.turns",
    "importance_ratio": "tito_audit.signal.ratio",
    "masked_mean": "tito_audit.signal.means",
    "ratio_metrics": "tito_audit.signal.ratio",
    "ratio_on_both_paths": "tito_audit.signal.paths",
    "signal_account": "tito_audit.signal.account",
    "step0_kl": "tito_audit.signal.step0",
}
"""What not every program needs: imported when it is first asked for."""


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - beside its use

    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})


if _core.DEBUG_BUILD:
    warnings.warn(
        "tito_audit was built without optimisation and is an order of magnitude slower; build it with --release",
        RuntimeWarning,
        stacklevel=2,
    )
