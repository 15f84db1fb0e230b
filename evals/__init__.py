"""Evaluations that run outside of the tests, with tools that are too heavy for them."""
