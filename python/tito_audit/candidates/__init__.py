"""Windows that may drift, to be judged: what they are made of, how bytes are spelled, and of which kinds they are.

They need no package beside the core, so that the command that fuzzes runs wherever the audit does.
"""
