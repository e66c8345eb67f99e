"""From rows to a report: verdicts counted, findings kept, tables and clean copies written."""
