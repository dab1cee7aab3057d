"""Terminal output and input: safe text, tables, answers, questions, error messages and exit codes."""
