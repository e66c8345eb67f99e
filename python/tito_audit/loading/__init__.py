"""Tokenizers of every kind, made into one that the reference engine runs."""
