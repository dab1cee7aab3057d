"""A worked example of a plug-in for jumpseat: one provider without HTTP, one with a dialect of its own."""
