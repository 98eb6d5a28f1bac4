"""The version of assay, that of pyproject.toml, too."""

__version__ = "0.2.0.dev0"
