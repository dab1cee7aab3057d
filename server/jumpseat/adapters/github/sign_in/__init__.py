"""GitHub sign-ins: jumpseat's own, those of other programs, and the device flow that creates one."""
