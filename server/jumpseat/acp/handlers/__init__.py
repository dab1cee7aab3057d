"""The handlers of the Agent Client Protocol, one module for each group of methods."""
