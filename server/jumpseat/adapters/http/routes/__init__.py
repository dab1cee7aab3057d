"""Dialects as one endpoint speaks them, one module per dialect.

A route encodes requests, and says what a refusal teaches. The adapter adds the URL and the headers.
"""
