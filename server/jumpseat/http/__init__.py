"""HTTP as adapters need it: one shared client, event streams, and failures as our errors.

The only package that imports httpx2, and only once a request is made: importing this one is cheap.
"""
