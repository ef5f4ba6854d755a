"""The actions of every participant, for any WebRTC stack, so that one test can mix them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from .media import AudioWitness, Signature, VideoWitness


@dataclass(frozen=True)
class Heard:
    """One data packet as its receiver saw it."""

    sender: str
    payload: bytes
    reliable: bool
    topic: str


class Participant(ABC):
    """Publishes its own signature, and keeps a witness for every other participant's track by identity."""

    def __init__(self, identity: str, signature: Signature) -> None:
        self.identity = identity
        self.signature = signature
        self.video: dict[str, VideoWitness] = {}
        self.audio: dict[str, AudioWitness] = {}
        self.inbox: list[Heard] = []
        self.frames_sent = 0

    @property
    @abstractmethod
    def others(self) -> set[str]:
        """The identities in the room beside this one."""

    @abstractmethod
    async def publish_video(self, width: int = 320, height: int = 180): ...

    @abstractmethod
    async def publish_audio(self): ...

    @abstractmethod
    async def send(
        self, payload: bytes, *, reliable: bool = True, to: list[str] | None = None, topic: str = ""
    ) -> None: ...

    @abstractmethod
    async def leave(self) -> None: ...

    def heard(self, payload: bytes) -> Heard | None:
        """The data packet with this payload, when it has come."""
        return next((heard for heard in self.inbox if heard.payload == payload), None)
