"""What the dialect "Anthropic messages" must do, row by row."""

ROWS: dict[str, str | tuple[str, str]] = {}
