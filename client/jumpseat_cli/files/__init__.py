"""The user's files: what goes with a question, what an edit rewrites, lines of files."""
