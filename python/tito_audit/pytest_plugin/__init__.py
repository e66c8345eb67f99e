"""What the pytest plugin does when a test uses it; `_tito_audit_pytest` beside this package is what pytest loads.

A test asks for the fixture ``drift_guard`` and shows it rollouts; it fails where they are over the bar::

    def test_the_buffer_keeps_what_was_sampled(drift_guard, tito_tokenizer):
        buffer = build_buffer(tito_tokenizer, SAMPLED)
        drift_guard.check(buffer.token_ids, mask=buffer.mask, train_ids=buffer.train_ids)

The bar is that of the command: ``--tito-fail-on realised`` (the default: the trainer scored something else than what
was sampled, and every finding of severity error), ``drift`` (these, and every row that a re-encode would change) or
``never`` (count alone). ``@pytest.mark.tito(fail_on=..., max_rate={"TITO301": 0.01})`` sets it for one test, class or
module.
"""

from __future__ import annotations

from tito_audit.pytest_plugin.drift_guard import DriftGuard
from tito_audit.pytest_plugin.options import bar_of, check_report, load_or_fail
from tito_audit.pytest_plugin.report_file import remove_earlier
from tito_audit.pytest_plugin.results import Results
from tito_audit.pytest_plugin.watch import Verdict, Watch

__all__ = ["DriftGuard", "Results", "Verdict", "Watch", "bar_of", "check_report", "load_or_fail", "remove_earlier"]
