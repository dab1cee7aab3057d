"""What the dialect "chat completions" must do, row by row."""

ROWS: dict[str, str | tuple[str, str]] = {}
