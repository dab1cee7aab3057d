"""What the dialect "OpenAI responses" must do, row by row."""

ROWS: dict[str, str | tuple[str, str]] = {}
