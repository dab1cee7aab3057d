"""The file tools: `read`, `list`, `search`, `edit` and `write` in the client's workspace folders.

`server.py` is the server of tools. `scan_process.py` runs in a process of its own; it and the modules that it
imports (`walking.py`, `ignoring.py`, `matching.py`, `credentials.py`, `text.py`) import nothing heavy.
"""
