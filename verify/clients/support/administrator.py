"""The server API: LiveKit's SDK with a token of ours, and bare HTTP for what the SDK does not send."""

import asyncio
import json
import urllib.error
import urllib.request
from dataclasses import dataclass

from livekit import api

from .tokens import DEV_KEY, DEV_SECRET, token

EVERYTHING = {"roomAdmin": True, "roomCreate": True, "roomList": True}


def sdk(url: str, secret: str = DEV_SECRET) -> api.LiveKitAPI:
    """The SDK; it signs a token with the grants that each method needs."""
    return api.LiveKitAPI(_http(url), DEV_KEY, secret)


@dataclass(frozen=True)
class Answer:
    """An answer to a bare request."""

    status: int
    body: dict


async def call(
    url: str,
    method: str,
    body: bytes | dict,
    *,
    room: str = "",
    grants: dict | None = None,
    access_token: str | None = None,
    verb: str = "POST",
    content_type: str = "application/json",
    service: str = "RoomService",
) -> Answer:
    """Sends one request by hand, with a token of these grants, and reads the JSON of the answer."""
    granted = EVERYTHING if grants is None else grants
    bearer = token(room, "administrator", grants=granted) if access_token is None else access_token
    headers = {"Content-Type": content_type} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(
        f"{_http(url)}/twirp/livekit.{service}/{method}", data=data, headers=headers, method=verb
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask() -> Answer:
        try:
            with opener.open(request, timeout=15) as response:
                return Answer(response.status, json.loads(response.read()))
        except urllib.error.HTTPError as refused:
            return Answer(refused.code, json.loads(refused.read()))

    return await asyncio.to_thread(ask)


def _http(url: str) -> str:
    return url.replace("ws", "http", 1)
