"""``python -m tito_audit``."""

import sys

from tito_audit.cli import main

sys.exit(main())
