"""Adapters. Each contains the code for one kind of provider: its URL, credential, headers and dialect.

`base` is the interface, and `http` is shared by the providers that use HTTP. Each other folder contains one
kind of provider, or closely related kinds. These folders do not import each other.
"""
