"""rtpengine's control protocol, as much of it as is needed to ask what calls there are."""

import itertools
import os
import socket

_cookies = itertools.count()


def request(address: tuple[str, int], command: str, **keys: str) -> dict:
    """One request and its reply, which must come within two seconds."""
    return read(exchange(address, cookie(), command, **keys))


def cookie() -> str:
    """One that no other request of this process has."""
    return f"{os.getpid()}_{next(_cookies)}"


def exchange(address: tuple[str, int], under: str, command: str, within_s: float = 2, **keys: str) -> bytes:
    """The reply to a request under this cookie, without the cookie."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(within_s)
        asking.connect(address)
        asking.send(message(under, command, **keys))
        answered, _, reply = asking.recv(65536).partition(b" ")
    assert answered == under.encode(), (under, answered)
    return reply


def message(under: str, command: str, **keys: str) -> bytes:
    """A request with its cookie."""
    words = {"command": command} | {key.replace("_", "-"): value for key, value in keys.items()}
    return under.encode() + b" " + _encode(words)


def read(reply: bytes) -> dict:
    """A reply without its cookie."""
    value, rest = _decode(reply)
    assert not rest, rest
    return value


def _encode(value) -> bytes:
    match value:
        case str():
            return f"{len(value.encode())}:{value}".encode()
        case int():
            return f"i{value}e".encode()
        case dict():
            return b"d" + b"".join(_encode(key) + _encode(each) for key, each in value.items()) + b"e"
        case _:
            raise TypeError(value)


def _decode(data: bytes):
    """The first value of `data`, and what follows it."""
    match data[:1]:
        case b"i":
            number, _, rest = data[1:].partition(b"e")
            return int(number), rest
        case b"l" | b"d":
            rest, values = data[1:], []
            while rest[:1] != b"e":
                value, rest = _decode(rest)
                values.append(value)
            return (values if data[:1] == b"l" else dict(zip(values[::2], values[1::2]))), rest[1:]
        case _:
            length, _, rest = data.partition(b":")
            return rest[: int(length)].decode(), rest[int(length) :]
