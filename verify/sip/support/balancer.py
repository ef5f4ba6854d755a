"""What may stand between a proxy and the relays of a cluster: each command of a call goes to the next relay."""

import re
import selectors
import socket
import threading

_CALL = re.compile(rb"7:call-id(\d+):")


class Balancer:
    """One address of rtpengine's protocol for several relays. A command that is repeated goes to the same one."""

    def __init__(self, address: tuple[str, int], relays: list[tuple[str, int]]) -> None:
        self._proxies = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._proxies.bind(address)
        self._relays = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._proxies, selectors.EVENT_READ, self._ask)
        for relay in relays:
            asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            asking.connect(relay)
            self._selector.register(asking, selectors.EVENT_READ, lambda asking=asking: self._answer(asking))
            self._relays.append(asking)
        # The relay and the proxy of each cookie, and the commands of each call.
        self._cookies: dict[bytes, tuple[socket.socket, tuple[str, int]]] = {}
        self.commands: dict[bytes, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.is_set():
            for key, _ in self._selector.select(0.05):
                key.data()

    def _ask(self) -> None:
        message, proxy = self._proxies.recvfrom(65536)
        cookie, _, body = message.partition(b" ")
        if cookie not in self._cookies:
            self._cookies[cookie] = (self._next(body), proxy)
        self._cookies[cookie][0].send(message)

    def _next(self, body: bytes) -> socket.socket:
        found = _CALL.search(body)
        if not found:
            return self._relays[0]
        call = body[found.end() : found.end() + int(found.group(1))]
        before = self.commands.get(call, 0)
        self.commands[call] = before + 1
        return self._relays[(sum(call) + before) % len(self._relays)]

    def _answer(self, relay: socket.socket) -> None:
        reply = relay.recv(65536)
        self._proxies.sendto(reply, self._cookies[reply.partition(b" ")[0]][1])

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()
        for each in (self._proxies, *self._relays):
            each.close()
        self._selector.close()
