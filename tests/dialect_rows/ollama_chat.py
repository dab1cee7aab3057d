"""What the dialect "Ollama's /api/chat" must do, row by row."""

ROWS: dict[str, str | tuple[str, str]] = {}
