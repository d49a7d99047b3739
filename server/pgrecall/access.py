"""Who may call."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping

from pgrecall.errors import StartRefused, Unauthorized

PLACEHOLDERS = frozenset(
    {"changeme", "change-me", "change_me", "secret", "password", "token", "your-token", "your-secret",
     "your_token", "your_secret", "example", "placeholder", "todo", "test", "xxx", "none", "null",
     "replace-me", "replaceme", "<token>", "<secret>"}
)  # fmt: skip


class Access:
    """`secret` None: everyone may call."""

    def __init__(self, secret: str | None) -> None:
        self._secret = secret.encode() if secret is not None else None

    @property
    def open(self) -> bool:
        return self._secret is None

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether one of the three headers carries the secret; each compared in constant time."""
        if self._secret is None:
            return False
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        offered = [credentials.strip()] if scheme.lower() in ("bearer", "token") else []
        offered.append(headers.get("x-api-key", "").strip())
        # Headers arrive as latin-1; a secret beyond ASCII was sent as UTF-8 bytes.
        matches = [hmac.compare_digest(one.encode("latin-1", "replace"), self._secret) for one in offered]
        return any(matches)

    def require(self, headers: Mapping[str, str]) -> None:
        """Raises Unauthorized."""
        if not self.open and not self.knows(headers):
            raise Unauthorized("send the secret as Authorization: Bearer, Authorization: Token or X-API-Key")


def configured(host: str, scheme: str | None, token: str | None, allow_open_access: bool) -> Access:
    """The access that the settings ask for. Raises StartRefused where they leave a door open."""
    if scheme not in (None, "none"):
        if token is None or not token.strip():
            raise StartRefused(
                f"PGRECALL_AUTH_SCHEME is {scheme}, but PGRECALL_AUTH_TOKEN is empty.",
                "Set PGRECALL_AUTH_TOKEN to a long random secret: openssl rand -hex 32",
            )
        if token.strip().lower() in PLACEHOLDERS or set(token.strip()) in ({"x"}, {"*"}):
            raise StartRefused(
                "PGRECALL_AUTH_TOKEN is a placeholder.",
                "Set it to a long random secret: openssl rand -hex 32",
            )
        return Access(token.strip())
    if token is not None and scheme is None:
        raise StartRefused(
            "PGRECALL_AUTH_TOKEN is set, but PGRECALL_AUTH_SCHEME is not: the secret would not be asked for.",
            "Set PGRECALL_AUTH_SCHEME to bearer, token or x-api-key (or to none, if open access is meant).",
        )
    if is_loopback(host):
        return Access(None)
    if scheme is None:
        raise StartRefused(
            f"Serving on {host}, which others can reach, needs PGRECALL_AUTH_SCHEME.",
            "Set it to bearer, token or x-api-key, and PGRECALL_AUTH_TOKEN; or serve on 127.0.0.1.",
        )
    if not allow_open_access:
        raise StartRefused(
            f"PGRECALL_AUTH_SCHEME=none on {host} would let everyone who reaches it read every memory.",
            "If that is meant, set PGRECALL_ALLOW_OPEN_ACCESS=true as well.",
        )
    return Access(None)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
