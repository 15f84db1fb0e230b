"""Day 15: LOCAL keeps five turns inside a budget."""
