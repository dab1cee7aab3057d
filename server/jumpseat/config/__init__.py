"""What the user wrote down: the TOML file, the overlay of a client, value sources and their secrets.

Below it is only `chat`; it knows no HTTP and no adapter.
"""
