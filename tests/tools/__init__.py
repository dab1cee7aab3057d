"""Commands for maintainers; none of them runs in the tests by itself."""
