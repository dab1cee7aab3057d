"""Text that the daemon reads for a client, to send with a chat: the rules of a workspace, and pages."""
