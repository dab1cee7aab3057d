"""The checks of the contract, one module for each subject."""
