"""The terminal: text without control sequences, tables, answers, questions, messages and their exit codes."""
