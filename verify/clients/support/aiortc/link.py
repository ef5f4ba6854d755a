"""One aiortc peer connection as the LiveKit protocol sees it: a target with descriptions, candidates and tracks."""

import json
import re
from collections.abc import Callable, Mapping

import aioice.ice
from aiortc import (
    MediaStreamTrack,
    RTCBundlePolicy,
    RTCConfiguration,
    RTCDataChannel,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.rtcdtlstransport import RTCDtlsTransport, SRTPProtectionProfile
from aiortc.sdp import SessionDescription, candidate_from_sdp, candidate_to_sdp
from livekit.protocol import rtc

# aioice leaves the loopback address out of its host candidates; on a machine without a network it
# is the only one.
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]

OnTrack = Callable[[str, MediaStreamTrack], None]
OnData = Callable[[str, bytes], None]
Suites = tuple[SRTPProtectionProfile, ...]


class Link:
    """One peer connection, the suites it may offer, and the candidates exchanged beside its descriptions."""

    def __init__(self, target: int, suites: Suites, on_track: OnTrack, on_data: OnData) -> None:
        self.target = target
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        self.channels: dict[str, RTCDataChannel] = {}
        self._suites = suites
        self._on_track = on_track
        self._on_data = on_data
        self._early: list[rtc.TrickleRequest] = []
        self._sids: dict[str, str] = {}
        self.pc.on("datachannel", self._adopt)

    def open_channels(self) -> None:
        """Creates the client's two channels, with the labels and reliability the protocol gives them."""
        self._adopt(self.pc.createDataChannel("_reliable"))
        self._adopt(self.pc.createDataChannel("_lossy", ordered=False, maxRetransmits=0))

    async def set_local(self) -> RTCSessionDescription:
        self.restrict()
        await self.pc.setLocalDescription()
        return self.pc.localDescription

    async def set_remote(self, description: rtc.SessionDescription) -> None:
        sdp = _without_placeholders(description.sdp)
        await self.pc.setRemoteDescription(RTCSessionDescription(sdp=sdp, type=description.type))
        self.restrict()
        await add_bundled_candidates(self.pc, sdp)
        self._announce(sdp, description.mid_to_track_id)
        for trickle in self._early:
            await self.trickle(trickle)
        self._early.clear()

    async def trickle(self, trickle: rtc.TrickleRequest) -> None:
        """Adds the server's candidate; before there is a remote description it waits for one."""
        if self.pc.remoteDescription is None:
            self._early.append(trickle)
            return
        init = json.loads(trickle.candidateInit) if trickle.candidateInit else {}
        if not init.get("candidate"):
            return
        candidate = candidate_from_sdp(init["candidate"].removeprefix("candidate:"))
        candidate.sdpMid = init.get("sdpMid")
        candidate.sdpMLineIndex = init.get("sdpMLineIndex")
        if candidate.protocol.lower() == "udp":
            await self.pc.addIceCandidate(candidate)

    def candidates(self) -> list[rtc.TrickleRequest]:
        """Our own candidates, as the messages a trickling client sends."""
        section = SessionDescription.parse(self.pc.localDescription.sdp).media[0]
        inits = [
            {"candidate": f"candidate:{candidate_to_sdp(candidate)}", "sdpMid": section.rtp.muxId, "sdpMLineIndex": 0}
            for candidate in section.ice_candidates
        ]
        return [rtc.TrickleRequest(candidateInit=json.dumps(init), target=self.target) for init in inits]

    def transports(self) -> set[RTCDtlsTransport]:
        found = {transceiver.receiver.transport for transceiver in self.pc.getTransceivers()}
        if self.pc.sctp:
            found.add(self.pc.sctp.transport)
        return found

    def restrict(self) -> None:
        """Limits what the handshakes still to come offer to the suites this link was given."""
        if self._suites:
            for transport in self.transports():
                transport._srtp_profiles = list(self._suites)

    def _announce(self, sdp: str, named: Mapping[str, str]) -> None:
        """Reports each section that now carries a track, by the server's id for it."""
        sections = {media.rtp.muxId: media for media in SessionDescription.parse(sdp).media}
        for transceiver in self.pc.getTransceivers():
            section = sections.get(transceiver.mid)
            if section is None or section.direction not in ("sendonly", "sendrecv"):
                continue
            # An answer names the track beside the SDP, an offer names it in the section's msid.
            sid = named.get(transceiver.mid) or (section.msid or "").partition(" ")[2]
            if sid.startswith("TR_") and self._sids.get(transceiver.mid) != sid:
                self._sids[transceiver.mid] = sid
                self._on_track(sid, transceiver.receiver.track)

    def _adopt(self, channel: RTCDataChannel) -> None:
        self.channels[channel.label] = channel
        channel.on("message", lambda data: self._on_data(channel.label, data))


async def add_bundled_candidates(pc: RTCPeerConnection, sdp: str) -> None:
    """Adds the first section's candidates: aiortc reads a bundle's last section, which need not repeat them."""
    section = SessionDescription.parse(sdp).media[0]
    for candidate in section.ice_candidates:
        candidate.sdpMid = section.rtp.muxId
        if candidate.protocol.lower() == "udp":
            await pc.addIceCandidate(candidate)


def _without_placeholders(sdp: str) -> str:
    """Makes sections that will carry a track only later inactive until they do.

    aiortc learns a section's SSRCs once, when it first may receive there, so a section must not become receiving before
    its SSRCs are known.
    """
    head, *sections = re.split(r"(?m)^(?=m=)", sdp)
    return head + "".join(
        section if "a=ssrc:" in section else section.replace("a=sendonly", "a=inactive") for section in sections
    )
