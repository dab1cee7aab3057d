"""The commands, a module each: options, help, and what they do."""
