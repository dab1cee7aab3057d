"""Dialects as one endpoint speaks them, one module per dialect.

A route encodes requests, and remembers what the endpoint refuses. The adapter adds the URL and the headers.
"""
