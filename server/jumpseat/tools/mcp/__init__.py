"""Tool servers that speak the Model Context Protocol (MCP): programs on stdio, and URLs.

`server.py` is a server as one client sees it, `run.py` the running server that clients share, and
`connection.py` the connection to it. Modules that import the official SDK say so in their docstrings, and are
imported only when they are needed.
"""
