"""One module for each dialect: bodies of answers, and the `Script` that makes them for the contract."""
