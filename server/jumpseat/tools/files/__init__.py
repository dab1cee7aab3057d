"""The file tools: `read`, `list`, `search`, `edit` and `write` in the client's workspace folders.

`server.py` is the tool server. `scan_process.py` runs in its own process, for each list and each search. This
process must start quickly, so the modules that it imports must not import large libraries.
"""
