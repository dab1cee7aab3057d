"""The rows of `tests/requirements.py` that belong to the dialects: one module for each wire format.

A row is what a dialect has to encode or decode, as its provider documents it or as imitators were seen to
do it. The id begins with the module's `PREFIX`.
"""
