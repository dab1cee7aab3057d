"""Sign-ins to GitHub: ours, those of other programs, and the device flow that makes one."""
