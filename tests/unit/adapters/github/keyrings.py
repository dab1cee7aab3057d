"""Fake keyrings: one works, one fails, one loses its data, and one hangs."""

from __future__ import annotations

import threading


class DictKeyring:
    """Stores passwords in a dict."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


class BrokenKeyring(DictKeyring):
    """Fails at every call. The error of `set_password` contains the password."""

    def get_password(self, service: str, username: str) -> str | None:
        raise PermissionError("locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise PermissionError(f"cannot keep {password}")

    def delete_password(self, service: str, username: str) -> None:
        raise PermissionError("locked")


class ForgetfulKeyring(DictKeyring):
    """Accepts passwords and loses them."""

    def get_password(self, service: str, username: str) -> str | None:
        return None


class SilentKeyring(DictKeyring):
    """Hangs, as if it waited for a user, until `answer` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.answer.wait(30)
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.answer.wait(30)
        super().set_password(service, username, password)
