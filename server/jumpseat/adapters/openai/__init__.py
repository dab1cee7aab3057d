"""Any endpoint with OpenAI's chat completions, or with OpenAI's Responses API."""
