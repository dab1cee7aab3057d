"""Dialects as one endpoint speaks them, one module a dialect.

Each makes requests, and understands and remembers refusals. An adapter brings the address and the headers.
"""
