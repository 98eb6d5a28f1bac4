"""One run: ask a model, score existing answers, open a run, export it with its answers."""
