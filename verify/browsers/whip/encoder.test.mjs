// A browser that publishes by WHIP as OBS does: its simulcast layers are called 0 and 1, the larger
// first.

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { token } from "../../../testkit/browsers/token.mjs";
import { waitFor } from "../support/wait.mjs";
import { createWorld, freshRoom } from "../support/world.mjs";

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());

/** Publishes the page's camera; runs in the page. The offer says no sizes, as that of OBS. */
async function publish({ url, bearer }) {
  const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
  const media = await navigator.mediaDevices.getUserMedia({ audio: true, video: { width: 640, height: 360 } });
  const [audio, video] = [media.getAudioTracks()[0], media.getVideoTracks()[0]];
  connection.addTransceiver(audio, { direction: "sendonly" });
  const sendEncodings = [1, 2].map((scaleResolutionDownBy, rid) => ({ rid: String(rid), scaleResolutionDownBy }));
  connection.addTransceiver(video, { direction: "sendonly", sendEncodings });
  await connection.setLocalDescription();
  const response = await fetch(`${url}/whip/v1`, {
    method: "POST",
    headers: { Authorization: `Bearer ${bearer}`, "Content-Type": "application/sdp" },
    body: connection.localDescription.sdp,
  });
  const [location, tag] = ["Location", "ETag"].map((name) => response.headers.get(name));
  if (response.ok) await connection.setRemoteDescription({ type: "answer", sdp: await response.text() });
  window.connection = connection;
  return { status: response.status, location, tag };
}

/** Restarts ICE; runs in the page. */
async function restart({ url, bearer, session }) {
  const { connection } = window;
  const credentials = (text) => text.match(/^a=ice-(ufrag|pwd):.*$/gm).slice(0, 2);
  connection.restartIce();
  await connection.setLocalDescription();
  const fragment = [...credentials(connection.localDescription.sdp), "m=audio 9 UDP/TLS/RTP/SAVPF 0", "a=mid:0", ""];
  const response = await fetch(url + session.location, {
    method: "PATCH",
    headers: {
      Authorization: `Bearer ${bearer}`,
      "Content-Type": "application/trickle-ice-sdpfrag",
      "If-Match": session.tag,
    },
    body: fragment.join("\r\n"),
  });
  const [ufrag, pwd] = credentials(await response.text());
  const sdp = connection.remoteDescription.sdp.replace(/a=ice-ufrag:.*/g, ufrag).replace(/a=ice-pwd:.*/g, pwd);
  await connection.setRemoteDescription({ type: "answer", sdp });
  return { status: response.status, tag: response.headers.get("ETag") };
}

/** The row of the page's transport; runs in the page. */
async function transport() {
  return [...(await window.connection.getStats()).values()].find((row) => row.type === "transport");
}

it("has its layers in the order of their sizes, and restarts ICE", { timeout: 120_000 }, async () => {
  const room = freshRoom("encoder");
  const [encoder, bob] = await Promise.all(["encoder", "bob"].map((identity) => world.person(identity)));
  await bob.join(room);
  const access = { url: world.server.url, bearer: token(room, "encoder") };
  const session = await encoder.page.evaluate(publish, access);
  assert.equal(session.status, 201);
  assert.match(session.location, /^\/whip\/v1\/[\w-]+\/PA_/);
  await bob.sees([encoder]);
  await bob.watches(encoder);
  const receives = (quality, height) =>
    bob.until(
      `receive ${height} lines for ${quality}`,
      async (client, [it, expected]) => {
        client.publication("encoder", "camera").setVideoQuality(client.VideoQuality[it]);
        const rows = (await client.stats()).received;
        return rows.some((row) => row.kind === "video" && row.frameHeight === expected);
      },
      [quality, height],
      30_000,
    );
  await receives("HIGH", 360);
  await receives("LOW", 180);
  await receives("HIGH", 360);
  const before = await encoder.page.evaluate(transport);
  assert.match(before.srtpCipher, /GCM/);
  const restarted = await encoder.page.evaluate(restart, { ...access, session });
  assert.equal(restarted.status, 200);
  assert.notEqual(restarted.tag, session.tag);
  await waitFor("another pair of candidates", async () => {
    const now = await encoder.page.evaluate(transport);
    return now.selectedCandidatePairChanges > before.selectedCandidatePairChanges && now.iceState === "connected";
  });
  await bob.watches(encoder);
});
