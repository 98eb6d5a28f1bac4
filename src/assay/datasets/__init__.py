"""The papers' files: what there is, and how it is downloaded."""
