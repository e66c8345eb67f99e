"""Settings of every test."""

import os

from hypothesis import settings

# A loaded machine is no failure. In CI a change is judged by the same examples each time; elsewhere by new ones.
settings.register_profile("tito_audit", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tito_audit")
