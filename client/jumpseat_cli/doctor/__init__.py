"""`jumpseat doctor`: checks of the installation, the configuration, the daemon and each provider."""
