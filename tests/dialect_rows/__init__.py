"""The rows of `tests/requirements.py` about the dialects and two providers, one module for each.

A row is one behaviour that the documentation of a wire format requires, or that servers which imitate the
format need. The id of a row is the module's `PREFIX`, a colon and the key of `ROWS`.
"""
