"""What a run leaves: findings, examples, diagnosis, verdict."""
