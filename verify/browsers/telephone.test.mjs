// Can a browser and a telephone talk, when a SIP proxy connects them through Weir?

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { freePort } from "./support/ports.mjs";
import { SipProxy, Telephone } from "./support/telephone.mjs";
import { sleep, waitFor } from "./support/wait.mjs";
import { createWorld } from "./support/world.mjs";

/**
 * A proxy's flags towards each kind of party, in offers and answers alike, as in
 * docs/operate/sip.md.
 */
const TO_TELEPHONE = {
  "transport-protocol": "RTP/AVP",
  ICE: "remove",
  "rtcp-mux": ["demux"],
  codec: { strip: ["all"], except: ["PCMU"] },
};
const TO_BROWSER = {
  "transport-protocol": "UDP/TLS/RTP/SAVPF",
  ICE: "force",
  "rtcp-mux": ["offer", "accept"],
  SDES: ["off"],
  flags: ["trust-address", "generate-mid"],
  replace: ["origin", "session-connection"],
};

describe("a browser and a telephone", { timeout: 120_000 }, () => {
  let world;
  let control;
  let person;
  let phone;
  let proxy;
  before(async () => {
    control = await freePort();
    const ng = `ng: {listen: "127.0.0.1:${control}"}`;
    // Below the ports of all else.
    const interfaces = "interfaces: [{address: 127.0.0.1, ports: 16000-21999}]";
    world = await createWorld({ configuration: `sip: {${ng}, ${interfaces}}\n` });
  });
  after(() => world?.end());
  beforeEach(async () => {
    [person, phone, proxy] = await Promise.all([world.person("ada"), Telephone.open(), SipProxy.open(control)]);
  });
  afterEach(async () => {
    for (const part of [phone, proxy]) part?.close();
    await world.clear();
  });

  it("talk when the browser calls", async () => {
    const offer = await person.page.evaluate(call);
    const toPhone = await proxy.describe("offer", "from browser", offer, TO_TELEPHONE);
    assert.match(toPhone, /^m=audio \d+ RTP\/AVP 0\r$/m);
    assert.doesNotMatch(toPhone, /fingerprint|ice-ufrag|candidate/);
    phone.hum(toPhone);
    const toBrowser = await proxy.describe("answer", "from browser", phone.description(), TO_BROWSER);
    await person.page.evaluate((sdp) => window.pc.setRemoteDescription({ type: "answer", sdp }), toBrowser);
    await talk("from browser");
  });

  it("talk when the telephone calls", async () => {
    const toBrowser = await proxy.describe("offer", "from phone", phone.description(), TO_BROWSER);
    const answer = await person.page.evaluate(pickUp, toBrowser);
    const toPhone = await proxy.describe("answer", "from phone", answer, TO_TELEPHONE);
    phone.hum(toPhone);
    await talk("from phone");
  });

  /** Both hear the other for some seconds, and then it is over. */
  async function talk(name) {
    const state = () => person.page.evaluate(() => window.pc.connectionState);
    await waitFor("the browser to be connected", async () => (await state()) === "connected", { onTimeout: state });
    const first = phone.heard.length;
    const before = await person.page.evaluate(listen);
    await waitFor("the telephone to hear 150 packets", () => phone.heard.length >= first + 150);
    const after = await person.page.evaluate(listen);
    const [got, lost] = [after.packetsReceived - before.packetsReceived, after.packetsLost - before.packetsLost];
    const loudest = phone.loudness();
    console.log(
      `${name}: the browser heard ${got} packets, lost ${lost}, level ${after.audioLevel}; the phone's ${loudest}`,
    );
    assert.ok(got >= 120 && lost === 0, `${got} came, ${lost} were lost`);
    assert.ok(after.audioLevel > 0.05, `the hum is heard: ${after.audioLevel}`);
    assert.ok(phone.heard.length > 0 && loudest > 0.001, `the microphone is heard: ${loudest}`);

    const told = await proxy.ask({ command: "delete", "call-id": name, "from-tag": "a" });
    assert.ok(told.totals.RTP.packets >= 270, JSON.stringify(told.totals));
    // The last packets may still be on their way when the answer is there.
    await sleep(200);
    const heard = phone.heard.length;
    await sleep(500);
    assert.ok(phone.heard.length <= heard + 2, "a call that is over is silent");
  }
});

/**
 * Runs in the page: begins a call, and returns the full description once all addresses are
 * known.
 */
async function call() {
  const pc = new RTCPeerConnection();
  window.pc = pc;
  // The level is measured of played audio only.
  pc.ontrack = ({ track }) => Object.assign(new Audio(), { srcObject: new MediaStream([track]) }).play();
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  for (const track of stream.getTracks()) pc.addTrack(track, stream);
  await pc.setLocalDescription();
  while (pc.iceGatheringState !== "complete") await new Promise((resolve) => setTimeout(resolve, 20));
  return pc.localDescription.sdp;
}

/** Runs in the page: answers a call. */
async function pickUp(sdp) {
  const pc = new RTCPeerConnection();
  window.pc = pc;
  pc.ontrack = ({ track }) => Object.assign(new Audio(), { srcObject: new MediaStream([track]) }).play();
  await pc.setRemoteDescription({ type: "offer", sdp });
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  for (const track of stream.getTracks()) pc.addTrack(track, stream);
  await pc.setLocalDescription(await pc.createAnswer());
  while (pc.iceGatheringState !== "complete") await new Promise((resolve) => setTimeout(resolve, 20));
  return pc.localDescription.sdp;
}

/** Runs in the page: the received audio. */
async function listen() {
  const report = await window.pc.getStats();
  const found = [...report.values()].find((it) => it.type === "inbound-rtp" && it.kind === "audio");
  const { packetsReceived = 0, packetsLost = 0, audioLevel = 0 } = found ?? {};
  return { packetsReceived, packetsLost, audioLevel };
}
