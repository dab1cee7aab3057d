"""An Ollama server, through its own API."""
