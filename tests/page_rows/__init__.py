"""The rows of `tests/requirements.py` that pages of the documentation promise, and those about adapters.

The id of a row begins with the `PREFIX` of its module. `SOURCE` names the pages or the module with the
promises.
"""
