"""Dialects as spoken by one endpoint, one module per dialect.

A route encodes requests, and learns from refusals. The adapter adds the URL and the headers.
"""
