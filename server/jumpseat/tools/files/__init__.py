"""The file tools: `read`, `list`, `search`, `edit` and `write` in the client's workspace folders.

`server.py` is the tool server. `scan_process.py` runs in its own process; it and the modules that it
imports (`walking.py`, `ignoring.py`, `matching.py`, `credentials.py`, `text.py`) import nothing heavy.
"""
