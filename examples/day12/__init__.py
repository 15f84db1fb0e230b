"""Day 12: a helpdesk that keeps raw messages and shows a model only those it needs."""
