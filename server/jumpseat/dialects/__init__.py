"""The wire formats that models speak, as pure functions: requests encoded, answers decoded.

No network, no credentials, no provider names: an adapter brings those.
"""
