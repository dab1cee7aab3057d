"""The device flow as a state machine: codes are pending, approved, denied, expired or used.

It follows RFC 8628 with two differences of GitHub: errors have HTTP status 200, and `slow_down` contains the
new interval.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Literal

from tests.emulator.accounts import Account
from tests.emulator.clock import Clock
from tests.emulator.credentials import Credentials, kind_for

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
LENIENCE = 0.1
"""The fraction of the interval by which a poll may be early, because clocks differ."""

_DOCS = "https://docs.github.com/developers/apps/authorizing-oauth-apps#error-codes-for-the-device-flow"
_DESCRIPTIONS = {
    "authorization_pending": "The authorization request is still pending.",
    "slow_down": "Too many requests have been made in the same timeframe.",
    "expired_token": "This 'device_code' has expired.",
    "access_denied": "The authorization request was denied.",
    "incorrect_client_credentials": "The client_id and/or client_secret passed are incorrect.",
    "incorrect_device_code": "The device_code provided is not valid.",
    "unsupported_grant_type": f"The grant type is not supported: use {GRANT_TYPE}.",
    "device_flow_disabled": "Device Flow must be explicitly enabled for this App.",
}
_ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"


@dataclass(slots=True)
class Device:
    """A device code and its state."""

    device_code: str
    user_code: str
    client_id: str
    scope: str
    interval: float
    expires_at: float
    state: Literal["pending", "approved", "denied", "used"] = "pending"
    account: Account | None = None
    last_poll: float | None = None
    polls: int = 0


class DeviceFlow:
    """The device codes and the settings of the device flow."""

    def __init__(self, clock: Clock, credentials: Credentials) -> None:
        self._clock = clock
        self._credentials = credentials
        self.devices: list[Device] = []
        self.interval: float = 5
        """The seconds between polls, which a test may set to less than one."""
        self.slow_down_step: float = 5
        self.lifetime: float = 899
        self.refused_apps: set[str] = set()

    def start(self, client_id: str, scope: str) -> dict[str, Any]:
        """Return a new device code or an error."""
        if client_id in self.refused_apps:
            return refusal("device_flow_disabled")
        code = "".join(secrets.choice(_ALPHABET) for _ in range(8))
        device = Device(
            secrets.token_hex(20),
            f"{code[:4]}-{code[4:]}",
            client_id,
            scope,
            self.interval,
            self._clock.now() + self.lifetime,
        )
        self.devices.append(device)
        return {
            "device_code": device.device_code,
            "user_code": device.user_code,
            "expires_in": int(self.lifetime),
            "interval": self.interval,
        }

    def poll(self, client_id: str, device_code: str, grant_type: str) -> dict[str, Any]:
        """Return the answer to one poll."""
        if client_id not in self._credentials.known_apps:
            return refusal("incorrect_client_credentials")
        if grant_type != GRANT_TYPE:
            return refusal("unsupported_grant_type")
        device = next((each for each in self.devices if each.device_code == device_code), None)
        if device is None or device.state == "used":
            return refusal("incorrect_device_code")
        if device.client_id != client_id:
            return refusal("incorrect_client_credentials")
        return self._answer(device)

    def find(self, user_code: str) -> Device:
        """Return the pending device with this user code, which is not case-sensitive.

        Raises:
            KeyError: there is no such device.
        """
        for device in self.devices:
            if device.user_code == user_code.strip().upper() and device.state == "pending":
                return device
        raise KeyError(user_code)

    def approve(self, user_code: str, account: Account) -> None:
        device = self.find(user_code)
        device.state, device.account = "approved", account

    def deny(self, user_code: str) -> None:
        self.find(user_code).state = "denied"

    def expire(self, user_code: str) -> None:
        self.find(user_code).expires_at = self._clock.now()

    def _answer(self, device: Device) -> dict[str, Any]:
        now, last = self._clock.now(), device.last_poll
        device.last_poll, device.polls = now, device.polls + 1
        if device.expires_at <= now:
            return refusal("expired_token")
        if last is not None and now - last < device.interval * (1 - LENIENCE):
            device.interval += self.slow_down_step
            return refusal("slow_down", interval=device.interval)
        if device.state == "denied":
            return refusal("access_denied")
        if device.account is None:
            return refusal("authorization_pending")
        device.state = "used"
        scope = "" if kind_for(device.client_id) == "ghu" else device.scope
        token = self._credentials.issue(device.account, client_id=device.client_id, scope=scope)
        return {"access_token": token.value, "token_type": "bearer", "scope": scope}


def refusal(error: str, **more: Any) -> dict[str, Any]:
    """Return an error answer."""
    return {"error": error, "error_description": _DESCRIPTIONS[error], "error_uri": _DOCS, **more}
