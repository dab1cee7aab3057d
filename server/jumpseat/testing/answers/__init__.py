"""The bodies of answers and the `Script` that writes them for the contract, in one module per dialect."""
