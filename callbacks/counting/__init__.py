"""Counters: how large a whole request is, each in its own unit."""
