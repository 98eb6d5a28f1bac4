"""What is shown, as data: elements, rich text, leaderboards."""
