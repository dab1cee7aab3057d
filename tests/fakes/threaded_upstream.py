"""The scriptable server for tests that are not async, under the name that the tests here know it by."""

from jumpseat.testing.threaded_upstream import ThreadedUpstream

__all__ = ["ThreadedUpstream"]
