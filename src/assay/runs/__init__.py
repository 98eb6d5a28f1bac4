"""One run: asking a model, scoring answers that are there, reading a run again, bundling it with its answers."""
