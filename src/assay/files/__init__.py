"""Reading and writing files: atomic writes, locks, rows, digests, downloads."""
