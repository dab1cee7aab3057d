"""The daemon as commands use it: a session for one command, sign-ins, kept conversations, settings."""
