"""Reading files that users name."""
