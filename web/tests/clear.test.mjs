// Media without encryption, in Chromium's own mode for laboratories: where a data plane that knows no SRTP is to be seen with real browsers.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertPictures, assertVoices, judge, pictures, show, voices } from "./support/measure.mjs";
import { sleep } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const VGA = { resolution: { width: 640, height: 360, frameRate: 30 } };
const WATCH_S = 10;
const BROWSER = { flags: ["--disable-webrtc-encryption"], beforehand: withoutEncryption };

/**
 * Two things livekit-client waits for do not exist in this mode: data channels, which Chromium refuses to make without DTLS, and a
 * connection state of "connected", which counts DTLS in. So the first pretend to be opening, and the second is what ICE says.
 */
function withoutEncryption() {
  class Unopened extends EventTarget {
    readyState = "connecting";
    bufferedAmount = 0;
    constructor(label) {
      super();
      this.label = label;
    }
    close() {}
  }
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...given) {
      super(...given);
      this.addEventListener("iceconnectionstatechange", () => this.dispatchEvent(new Event("connectionstatechange")));
    }
    get connectionState() {
      const names = { checking: "connecting", completed: "connected" };
      return names[this.iceConnectionState] ?? this.iceConnectionState;
    }
    createDataChannel(label) {
      return new Unopened(label);
    }
  };
}

describe("without encryption", { timeout: 120_000 }, () => {
  let world;
  before(async () => {
    world = await createWorld({ configuration: "rtc: {clear_rtp: true}\n", ...BROWSER });
  });
  after(() => world?.end());

  it("three people see and hear each other where the operator allows it", async () => {
    const room = freshRoom("clear");
    const people = await Promise.all(["ada", "bob", "cat"].map((identity) => world.person(identity)));
    const options = { videoCaptureDefaults: VGA, publishDefaults: { videoCodec: "vp8", simulcast: false } };
    for (const person of people) {
      await person.join(room, { options });
      await person.publish();
    }
    await Promise.all(people.map((person) => person.sees(people.filter((other) => other !== person))));
    await sleep(5000);
    await judge(people, WATCH_S, (views) => {
      const [seen, heard] = [pictures(views), voices(views)];
      show("in clear: pictures", seen);
      show("in clear: voices", heard);
      assertPictures(seen, 6);
      assertVoices(heard, 6, WATCH_S);
    });
    for (const person of people) {
      const { transports } = await person.stats();
      assert.ok(transports.length > 0, "a transport is in use");
      for (const { srtpCipher } of transports) assert.equal(srtpCipher, "");
    }
  });
});

it("without encryption nobody gets in where the operator has not allowed it", { timeout: 60_000 }, async () => {
  const world = await createWorld(BROWSER);
  try {
    const ada = await world.person("ada");
    const { error } = await ada.tryJoin(freshRoom("refused"), {
      connect: { maxRetries: 0, peerConnectionTimeout: 5000 },
    });
    assert.ok(error, "the connection is refused");
  } finally {
    await world.end();
  }
});
