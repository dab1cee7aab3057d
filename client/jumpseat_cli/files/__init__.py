"""The user's files: attachments to a question, files to edit, ranges of lines."""
