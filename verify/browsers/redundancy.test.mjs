// Voices travel with the packet before them again (RFC 2198), as livekit-client publishes them by
// itself.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { assertVoices, judge, show, voices } from "./support/measure.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const WATCH_S = 5;

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());
afterEach(() => world.clear());

/** Removes redundant audio from a browser's offers and answers, as for one without it. */
function forgetRedundancy() {
  const write = RTCPeerConnection.prototype.setLocalDescription;
  const withoutRed = (sdp) =>
    sdp
      .split("\r\n")
      .filter((line) => !/^a=(rtpmap|fmtp|rtcp-fb):63 /.test(line))
      .map((line) => (line.startsWith("m=audio") ? line.replace(/ 63\b/, "") : line))
      .join("\r\n");
  const create = RTCPeerConnection.prototype.createOffer;
  RTCPeerConnection.prototype.createOffer = async function (...options) {
    const offer = await create.apply(this, options);
    return { type: offer.type, sdp: withoutRed(offer.sdp) };
  };
  RTCPeerConnection.prototype.setLocalDescription = function (description) {
    return write.call(this, description && { type: description.type, sdp: withoutRed(description.sdp) });
  };
}

/**
 * The codec that the publisher was told to use in its microphone's section: statistics name the
 * inner codec.
 */
function agreed(person) {
  return person.run((client) => {
    const transport = client.room.engine.pcManager.publisher;
    const sections = (transport._pc ?? transport.pc).remoteDescription.sdp.split(/\r\n(?=m=)/);
    const section = sections.find((text) => text.startsWith("m=audio") && text.includes("a=recvonly"));
    const [, number] = /^m=audio \d+ \S+ (\d+)/.exec(section);
    return new RegExp(`a=rtpmap:${number} (\\w+)`).exec(section)[1];
  });
}

/**
 * The share of repeated audio among arrivals: with redundancy, all except packets that were lost
 * the first time.
 */
async function repeated(person, from) {
  const { discarded, received } = await person.run(async (client, who) => {
    const stats = await client.publication(who, "microphone").track.receiver.getStats();
    const row = [...stats.values()].find(({ type }) => type === "inbound-rtp");
    return { discarded: row.packetsDiscarded, received: row.packetsReceived };
  }, from.identity);
  return discarded / received;
}

/**
 * One participant speaks and one listens: the agreed codec, and whether the repetitions
 * arrived.
 */
async function talk(purpose, { publishDefaults, prepare } = {}) {
  const room = freshRoom(purpose);
  const [ada, bob] = await Promise.all(["ada", "bob"].map((identity) => world.person(identity)));
  if (prepare) await bob.page.evaluate(prepare);
  await ada.join(room, { options: { publishDefaults } });
  await bob.join(room);
  await ada.publish({ camera: false });
  await ada.run((client) => client.hum());
  await bob.sees([ada], ["microphone"]);
  await judge([ada, bob], WATCH_S, (views) => {
    const heard = voices(views);
    show(purpose, heard);
    assertVoices(heard, 1, WATCH_S);
  });
  const share = await repeated(bob, ada);
  console.log(`${purpose}: ${share.toFixed(2)} of the packets came twice`);
  return { sent: await agreed(ada), twice: share > 0.5 };
}

describe("redundant audio", () => {
  it("goes whole to a browser that reads it", { timeout: 60_000 }, async () => {
    assert.deepEqual(await talk("red"), { sent: "red", twice: true });
  });

  it("is not sent by a client that asked not to", { timeout: 60_000 }, async () => {
    assert.deepEqual(await talk("plain", { publishDefaults: { red: false } }), { sent: "opus", twice: false });
  });

  it("reaches a browser that does not read it as the Opus in it", { timeout: 60_000 }, async () => {
    assert.deepEqual(await talk("primary", { prepare: forgetRedundancy }), { sent: "red", twice: false });
  });
});
