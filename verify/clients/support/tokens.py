"""Access tokens, signed here rather than by a library so that each test can also make a wrong one."""

import base64
import hashlib
import hmac
import json
import time

DEV_KEY = "devkey"
DEV_SECRET = "secret"


def token(
    room: str,
    identity: str,
    *,
    name: str = "",
    metadata: str = "",
    attributes: dict[str, str] | None = None,
    grants: dict | None = None,
    room_config: dict | None = None,
    key: str = DEV_KEY,
    secret: str = DEV_SECRET,
    lifetime_s: int = 600,
) -> str:
    """A LiveKit access token: HS256, `iss` the API key, `sub` the identity, the grants under `video`."""
    now = int(time.time())
    claims = {
        "iss": key,
        "sub": identity,
        "nbf": now - 10,
        "exp": now + lifetime_s,
        "name": name,
        "metadata": metadata,
        "attributes": attributes or {},
        "video": {"roomJoin": True, "room": room, "canUpdateOwnMetadata": True} | (grants or {}),
    }
    claims |= {"roomConfig": room_config} if room_config is not None else {}
    signed = f"{_segment({'alg': 'HS256', 'typ': 'JWT'})}.{_segment(claims)}"
    mac = hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{_base64url(mac)}"


def _segment(value: dict) -> str:
    return _base64url(json.dumps(value, separators=(",", ":")).encode())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
