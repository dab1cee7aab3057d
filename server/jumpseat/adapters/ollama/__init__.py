"""An Ollama server, by its own API."""
