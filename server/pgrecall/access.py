"""Who may call."""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping

from pgrecall.errors import StartRefused, Unauthorized

SHORTEST = 8
"""Characters a secret must have at least."""
DISTINCT = 4
"""Different characters a secret must have at least: "xxxxxxxx" and "********" have one."""
STOCK_WORDS = (
    "a|access|add|admin|an|api|auth|bar|bearer|change|default|demo|dev|dummy|enter|example|fill|foo|here|in|insert|"
    "is|it|key|letmein|long|me|my|none|null|of|pass|passwd|password|paste|pgrecall|pick|put|qwerty|random|real|"
    "replace|sample|secret|secure|set|sk|some|strong|super|test|testing|the|this|to|todo|token|undefined|value|"
    "very|with|your"
)
STOCK = re.compile(
    rf"(?:{STOCK_WORDS})+\d*"  # nothing but what examples are made of, and a number: supersecret1
    r"|.*(?:change(?:me|this)|replace(?:me|this|with)|placeholder).*"
    r"|.*your.*(?:token|secret|key|password).*"
    r"|.*x{6}.*"
)
"""A placeholder, in small letters and without what separates words."""
BRACKETS = re.compile(r"^<.*>$|\.\.\.|…|\$\{.*\}|\{\{.*\}\}")
"""How placeholders are written: <token>, sk-..., ${TOKEN}, {{ token }}."""
COUNTING = "01234567890123456789 98765432109876543210"
REMEDY = "Set PGRECALL_AUTH_TOKEN to a long random secret, such as this prints: openssl rand -hex 32"


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


def weakness(secret: str) -> str | None:
    """Why a secret is none: everyone guesses it. None where nothing speaks against it."""
    if len(secret) < SHORTEST:
        return f"is shorter than {SHORTEST} characters"
    folded = "".join(character for character in secret.casefold() if character.isalnum())
    if BRACKETS.search(secret) or STOCK.fullmatch(folded):
        return "is a placeholder"
    if len(set(secret)) < DISTINCT or (folded and folded in COUNTING):
        return "is easily guessed"
    return None


def configured(host: str, scheme: str | None, token: str | None, allow_open_access: bool) -> Access:
    """The access that the settings ask for. Raises StartRefused where they leave a door open."""
    if scheme not in (None, "none"):
        if token is None or not token.strip():
            raise StartRefused(
                f"PGRECALL_AUTH_SCHEME is {scheme}, but PGRECALL_AUTH_TOKEN is empty.",
                REMEDY,
            )
        if (amiss := weakness(token.strip())) is not None:
            raise StartRefused(f"PGRECALL_AUTH_TOKEN {amiss}.", REMEDY)
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
