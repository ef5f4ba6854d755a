// The package `whip-whep` from npm in browsers, beside a client of the LiveKit protocol.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { token } from "../../../testkit/browsers/token.mjs";
import { findAddress, firefoxIsMissing, launchFirefox } from "../support/firefox.mjs";
import { Participant } from "../support/participant.mjs";
import { waitFor } from "../support/wait.mjs";
import { createWorld, freshRoom } from "../support/world.mjs";

// The size of the page's own camera: a browser has one camera, and the first size holds.
const VGA = { resolution: { width: 640, height: 360, frameRate: 20 } };
const ENCODER = { identity: "encoder" };
const PROTOCOLS = ["whip", "whep"];

describe("whip-whep from npm", { timeout: 240_000 }, () => {
  let world;
  before(async () => {
    // Firefox goes to no server on loopback.
    world = await createWorld({ address: findAddress() });
  });
  after(() => world?.end());

  it("publishes and plays in Chromium", { timeout: 100_000 }, () => publishesAndPlays(world, world.browser));

  it("publishes and plays in Firefox", { skip: firefoxIsMissing(), timeout: 100_000 }, async () => {
    const firefox = await launchFirefox();
    try {
      await publishesAndPlays(world, firefox);
    } finally {
      await firefox.close();
    }
  });
});

/** A page publishes by WHIP as `encoder` and plays bob by WHEP as `player`; bob watches it. */
async function publishesAndPlays(world, browser) {
  const room = freshRoom("package");
  const [bob, page] = await Promise.all([world.person("bob"), Participant.open({ ...world, browser }, "the page")]);
  await bob.join(room, {
    options: { videoCaptureDefaults: VGA, publishDefaults: { simulcast: false, dtx: false, red: false } },
  });
  await bob.publish();
  const { url } = world.server;
  await page.run((client, how) => client.broadcast.publish(how), { url, token: token(room, "encoder") });
  const player = { url, token: token(room, "player"), participant: "bob" };
  await page.run((client, how) => client.broadcast.play(how), player);

  await bob.sees([ENCODER]);
  await receives(bob, "HIGH", 360);
  await receives(bob, "LOW", 180);
  await Promise.all([hears(bob), plays(page)]);

  for (const protocol of PROTOCOLS) await restarts(page, protocol);
  await Promise.all([bob.watches(ENCODER), hears(bob), plays(page)]);

  await page.run((client) => Promise.all([client.broadcast.whip.client.stop(), client.broadcast.whep.client.stop()]));
  await bob.until("be alone", (client) => client.room.remoteParticipants.size === 0);
  const requests = (protocol) => page.run((client, it) => client.broadcast[it].requests, protocol);
  // The package's player reads no entity tag before it restarts ICE, so its first candidates come
  // without one.
  for (const protocol of ["whip", "whep"]) {
    assert.deepEqual(distinct(await requests(protocol)), ["DELETE 200", "PATCH 200", "PATCH 204", "POST 201"]);
  }
  await Promise.all([bob.close(), page.close()]);
}

const distinct = (requests) => [...new Set(requests)].sort();

/** Asks for a layer of the encoder, and waits until frames of its size are decoded. */
async function receives(bob, quality, height) {
  const found = async (client, [it, expected]) => {
    client.publication("encoder", "camera").setVideoQuality(client.VideoQuality[it]);
    const rows = (await client.stats()).received;
    return rows.some((row) => row.kind === "video" && row.frameHeight === expected);
  };
  await bob.until(`receive ${height} lines for ${quality}`, found, [quality, height], 30_000);
  await bob.watches(ENCODER);
}

/** Waits until packets of the encoder's microphone arrive. */
async function hears(bob) {
  const packets = async () => (await bob.stats()).received.find((row) => row.kind === "audio")?.packetsReceived ?? 0;
  const before = await packets();
  await waitFor("bob to hear the encoder", async () => (await packets()) >= before + 10);
}

/** Waits until the player has received more of bob's microphone and camera. */
async function plays(page) {
  const figures = () => page.run((client) => client.broadcast.figures("whep"));
  const before = await figures();
  await waitFor(
    "the player to play bob",
    async () => {
      const { frames, packets } = await figures();
      return frames >= before.frames + 10 && packets >= before.packets + 10;
    },
    { timeout: 20_000, onTimeout: async () => JSON.stringify(await figures()) },
  );
}

/** Restarts ICE, and waits until another pair of candidates is in use. */
async function restarts(page, protocol) {
  const pair = async () => (await page.run((client, it) => client.broadcast.figures(it), protocol)).pair;
  await waitFor(`answers to the candidates by ${protocol}`, () =>
    page.run((client, it) => client.broadcast.isSettled(it), protocol),
  );
  const before = await pair();
  await page.run((client, it) => client.broadcast[it].client.restart(), protocol);
  await waitFor(`another pair of candidates by ${protocol}`, async () => ![undefined, before].includes(await pair()));
}
