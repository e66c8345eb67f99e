"""What the exit codes of the command are."""

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_UNCHECKED = 2
EXIT_INTERRUPTED = 130
EXIT_SIGNAL = 128
"""To which the number of the signal is added that ended the process: 143 for SIGTERM."""
