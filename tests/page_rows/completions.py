"""The requirements about completions."""

PREFIX = "14"
SOURCE = "docs/protocol/completions.md"
ROWS: dict[str, str | tuple[str, str]] = {
    "complete": "complete/start returns the text between two texts, its stop reason and its usage",
    "line": "line ends the text with its line, block does not; each has a default limit of tokens",
    "near": "only the part of a long document near the place is sent, in whole lines",
    "openai": "an openai provider gets /completions with suffix; Mistral gets /fim/completions",
    "ollama": "an Ollama server gets /api/generate with a suffix and the same options as chats",
    "llama": "llama.cpp, whose /completions ignores the suffix, is recognised and gets /infill",
    "local": "the local model fills in if its vocabulary can; else it is refused without being loaded",
    "language-server": "GitHub's language server completes a document that is open only meanwhile",
    "refusal": "a model or provider that cannot fill in is 1004, with a hint that names one that can",
    "ability": "supportsInfill comes from the list or the configuration, and is absent if unknown",
    "cancel": "$/cancelRequest closes the connection of a completion; -32800 has no partial",
    "failures": "a completion fails and is retried like a chat",
    "client": "the Python clients have complete",
}
