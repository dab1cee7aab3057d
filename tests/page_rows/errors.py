"""The requirements about errors."""

PREFIX = "6"
SOURCE = "docs/protocol/errors.md"
ROWS: dict[str, str | tuple[str, str]] = {
    "data": "error.data has kind, retryable and everything else that is known",
    "every-error-has-a-code": "every class of the error tree has its code",
    "authentication": "401 is 1000",
    "authorization": "403 is 1001",
    "rate-limit": "429 is 1002 with retryAfter; a wait of more than 60 s is reported instead of made",
    "wait": "the hint of a limit says how long to wait, in seconds, minutes, hours or days",
    "quota": "402 and insufficient_quota are 1003, never retried",
    "request": "an unknown model is 1004 naming it and the provider",
    "context-exceeded": "a prompt that is too long is 1005",
    "too-long-before-sending": "an exact count over the limit, or an estimate of over twice it, is 1005",
    "content-filter": "a blocked prompt is 1006",
    "server": "5xx is 1007",
    "connection": "an unreachable base URL is 1008 naming the host",
    "protocol": "an answer that ends early is 1009 with the partial",
    "bounds": "an answer of over 64 MiB, or of 16 MiB without output, is 1009 with the partial",
    "bounds-packed": "compressed answers have the same bounds, and do not delay other requests",
    "config": "a wrong configuration is 1010 naming the key",
    "internal": "a defect is -32603 without its message and traceback",
    "no-secrets": "no secret reaches the wire or an error",
    "no-secrets-in-logs": "no log has a secret in messages, arguments, tracebacks or from the HTTP library",
    "no-secrets-in-reprs": "a secret hides itself in a repr, a pickle and a dump",
}
