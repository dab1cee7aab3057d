"""The command line: groups of commands, shared options, shell completion."""
