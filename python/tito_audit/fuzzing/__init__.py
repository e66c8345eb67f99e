"""The search of a tokenizer for what does not survive decode and encode, and the comparison of two tokenizers."""
