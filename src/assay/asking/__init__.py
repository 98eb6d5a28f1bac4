"""What is asked: queries, plans, tokens, messages, and the progress of asking them."""
