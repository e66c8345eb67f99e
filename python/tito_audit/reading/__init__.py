"""From files and records to rows: what is read, how it is laid out, and what is wrong with it as a record."""
