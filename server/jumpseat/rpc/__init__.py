"""JSON-RPC connections on stdio, with their methods and handlers. Only this package uses wire names.

The turn engine below it does not depend on JSON-RPC. Each connection has its own dispatcher.
"""
