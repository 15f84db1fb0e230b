"""The console: LOCAL behind its own gateway, tried in a browser without a LINE channel.

For a person's own machine: it is no part of what is deployed, and its state ends with it.
"""
