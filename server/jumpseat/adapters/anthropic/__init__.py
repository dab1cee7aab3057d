"""Any endpoint with Anthropic's Messages API."""
