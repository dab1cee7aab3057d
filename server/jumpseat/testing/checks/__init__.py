"""The checks of the contract, one module for each matter; `contract` puts them together."""
