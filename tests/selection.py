"""Which kinds of tests there are, for what selects some of them."""

OF_FIXTURES = {"browser": "browser", "llama": "server", "cluster": "ray", "site": "slow"}
"""Markers of whatever uses a fixture."""
