"""What users write: settings and TOML files."""
