"""The arguments: groups of commands, shared options, completion by a shell."""
