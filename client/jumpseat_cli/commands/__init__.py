"""The commands, one module each: options, help and behaviour."""
