"""The commands' access to the daemon: sessions, sign-ins, kept conversations and settings."""
