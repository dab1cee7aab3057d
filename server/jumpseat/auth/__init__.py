"""Who the user is to a provider. Knows nothing of chats."""

from jumpseat.auth.status import AuthState, AuthStatus, Quota, SignInPrompt

__all__ = ["AuthState", "AuthStatus", "Quota", "SignInPrompt"]
