"""Connections: JSON-RPC on stdio, methods and handlers; the only package that knows wire names.

Below it is the turn engine, which knows nothing of JSON-RPC. One dispatcher serves one connection.
"""
