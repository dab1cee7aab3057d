"""Dialects as one endpoint uses them, one module per dialect.

A route encodes requests, and learns from refusals. The adapter adds the URL and the headers.
"""
