"""The web, REST API and Copilot hosts of one GitHub instance. No other host receives its credentials.

Sources: GitHub's pages on data residency and Enterprise Server; endpoints in responses of
`/copilot_internal`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from jumpseat.chat import ConfigError
from jumpseat.http import is_loopback

DOTCOM = "github.com"
TENANT_DOMAIN = "ghe.com"
COPILOT_DOMAIN = "githubcopilot.com"
"""The domain of github.com's data planes: `api.githubcopilot.com`, and a host for each plan."""

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?|\[[0-9a-f:.]+\](:\d{1,5})?")


def login_command(provider: str) -> str:
    """Return the command that signs in to a provider."""
    return "jumpseat login" if provider == "copilot" else f"jumpseat login {provider}"


@dataclass(frozen=True, slots=True)
class GitHubHosts:
    """The base URLs of a GitHub instance's three services ("planes"), without a trailing slash."""

    provider: str
    authority: str
    """The host whose credentials these planes accept, with its port if it has one: `github.com`."""

    github: str
    """The base URL for the web pages and OAuth."""

    api: str
    """The base URL of the REST API."""

    copilot: str
    """The base URL of Copilot's data plane, unless a response names another one."""

    copilot_is_configured: bool = False
    """Whether the user configured the data plane, so that responses do not change it."""

    is_the_users_own: bool = True
    """Whether the provider's table comes from the user's file, not from a client."""

    @property
    def login_command(self) -> str:
        """The command that signs in to this provider."""
        return login_command(self.provider)

    @property
    def is_dotcom(self) -> bool:
        """Whether this is github.com itself, and its web host is not replaced by another one."""
        return self.authority == DOTCOM == urlsplit(self.github).netloc

    @property
    def trusts_found_sign_ins(self) -> bool:
        """Whether credentials that other tools stored for `authority` may be sent to all three planes."""
        # A user may point a plane at any host, such as a gateway. If a client's table could do the same, the
        # author of a workspace could obtain the user's credential.
        planes = (self.github, self.api, self.copilot)
        return self.is_the_users_own or all(_is_part_of(self.authority, urlsplit(url)) for url in planes)

    @property
    def key(self) -> str:
        """The key of these hosts in credential stores, derived from the URLs of all planes."""
        digest = hashlib.sha256("\n".join((self.github, self.api, self.copilot)).encode()).hexdigest()
        return f"{self.authority}#{digest[:12]}"

    def data_host(self, endpoint: object) -> str:
        """Return the base URL of the data plane for a credential.

        Args:
            endpoint: `endpoints.api` of the response that carried the credential; it may be any JSON value.

        Raises:
            ConfigError: the endpoint is not a host of this GitHub instance.
        """
        if self.copilot_is_configured or not isinstance(endpoint, str) or not endpoint:
            return self.copilot
        parts = _split_allowed(endpoint)
        own = {urlsplit(url).netloc for url in (self.copilot, self.api, self.github)}
        if parts is None or not any(_is_part_of(home, parts) for home in {self.authority, *own}):
            host = parts.netloc if parts is not None else "an invalid address"
            raise ConfigError(
                f"{self.authority} names {host} as the host of Copilot. Credentials are not sent there, "
                "because the host does not belong to this GitHub instance.",
                provider=self.provider,
                hint=f"If the host is right, set providers.{self.provider}.copilot_url to its URL.",
            )
        return endpoint.rstrip("/")


def github_hosts(
    host: str = DOTCOM,
    *,
    provider: str,
    github_url: str | None = None,
    api_url: str | None = None,
    copilot_url: str | None = None,
    is_the_users_own: bool = True,
) -> GitHubHosts:
    """Return the planes of a GitHub instance.

    Args:
        host: `github.com`, a tenant `T.ghe.com`, an Enterprise Server, or a loopback address. The last two
            may have a port.
        provider: the configured provider's id, for error messages.
        github_url: replaces the web host's URL.
        api_url: replaces the REST host's URL.
        copilot_url: replaces the data plane's URL, even if a response names another one.
        is_the_users_own: False for a table that came from a client.

    Raises:
        ConfigError: one of the values is not a host or URL that may receive a credential.
    """
    name = host.strip().lower().removeprefix("https://").rstrip("/")
    if not _HOST.fullmatch(name) or _split_allowed(f"https://{name}") is None:
        raise ConfigError(
            f"providers.{provider}.host is not a host name.",
            provider=provider,
            hint=f'Set only the host: "{DOTCOM}" or "acme.{TENANT_DOMAIN}". Ports are 1 to 65535.',
        )
    if is_loopback(f"http://{name}"):
        github, api, copilot = f"http://{name}", f"http://{name}/api/v3", f"http://{name}"
    elif name == DOTCOM:
        github, api, copilot = (
            f"https://{name}" for name in (DOTCOM, f"api.{DOTCOM}", f"api.{COPILOT_DOMAIN}")
        )
    elif _is_below(name, TENANT_DOMAIN):
        github, api, copilot = f"https://{name}", f"https://api.{name}", f"https://copilot-api.{name}"
    else:
        github, api, copilot = f"https://{name}", f"https://{name}/api/v3", f"https://copilot-api.{name}"
    return GitHubHosts(
        provider=provider,
        authority=name,
        github=_validate(github_url, github, f"providers.{provider}.github_url", provider),
        api=_validate(api_url, api, f"providers.{provider}.api_url", provider),
        copilot=_validate(copilot_url, copilot, f"providers.{provider}.copilot_url", provider),
        copilot_is_configured=copilot_url is not None,
        is_the_users_own=is_the_users_own,
    )


def _validate(url: str | None, default: str, key: str, provider: str) -> str:
    if url is None:
        return default
    parts = _split_allowed(url)
    if parts is None:
        raise ConfigError(
            f"{key} is not an address to which credentials may be sent.",
            provider=provider,
            hint="Use https:// and a host, without a user, a query or a fragment. Only loopback addresses "
            "may use http://.",
        )
    # Normalize the URL, because it is part of keys in credential stores.
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def _split_allowed(url: str) -> SplitResult | None:
    """Split a URL that may receive a credential, with its host in lower case; return None for others."""
    try:
        parts = urlsplit(url)
        parts = parts._replace(netloc=parts.netloc.lower())
        legal_port = parts.port is None or parts.port > 0
    except ValueError:
        return None
    if not legal_port or not _HOST.fullmatch(parts.netloc) or parts.query or parts.fragment:
        return None
    if re.search(r"[\s\\\x00-\x1f\x7f]", url):
        return None
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(url)):
        return parts
    return None


def _is_part_of(authority: str, parts: SplitResult) -> bool:
    """Whether a URL's host belongs to the GitHub instance at `authority`."""
    home = urlsplit(f"//{authority}").hostname or ""
    if is_loopback(f"http://{authority}"):
        return is_loopback(parts.geturl())
    if parts.scheme != "https" or parts.port not in (None, 443):
        return parts.netloc == authority and parts.scheme == "https"
    return _is_below(parts.hostname or "", home) or _is_below(parts.hostname or "", COPILOT_DOMAIN)


def _is_below(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
