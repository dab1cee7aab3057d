"""Tool servers that speak the Model Context Protocol (MCP): programs on stdio, and URLs.

`server.py` is a server as one client sees it, `run.py` the running server that clients share, and
`connection.py` its connection, the only module with `sign_in.py` that imports the official SDK.
"""
