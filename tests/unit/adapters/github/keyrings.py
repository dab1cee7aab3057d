"""Keyrings for tests, each with its temper."""

from __future__ import annotations

import threading


class DictKeyring:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


class BrokenKeyring(DictKeyring):
    """Fails at everything, and shows in its message what it was given."""

    def get_password(self, service: str, username: str) -> str | None:
        raise PermissionError("locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise PermissionError(f"cannot keep {password}")

    def delete_password(self, service: str, username: str) -> None:
        raise PermissionError("locked")


class ForgetfulKeyring(DictKeyring):
    """Takes everything and keeps nothing."""

    def get_password(self, service: str, username: str) -> str | None:
        return None


class SilentKeyring(DictKeyring):
    """Waits for a person who is not there, until `answer` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.answer.wait(30)
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.answer.wait(30)
        super().set_password(service, username, password)
