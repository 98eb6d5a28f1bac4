"""How plans are run: batches, blocks on disk, resuming, executors. No probe and no model is named here."""
