"""Reports and verdicts for people: nothing is computed here, and every text is safe to print."""
