"""A turn, from the request to the response; the one retry budget of the house."""
