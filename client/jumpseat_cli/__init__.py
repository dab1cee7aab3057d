"""The `jumpseat` command."""
