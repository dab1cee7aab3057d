"""The checks of the contract, in one module per subject."""
