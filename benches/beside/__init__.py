"""What `side_by_side.py` is made of: texts, rows, engines, one process per timing, tables."""
