// A room on two media nodes: what Chromium sends to one of them reaches Chromium at the other one,
// in the encodings that are wanted there.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { launchBrowser } from "../../../testkit/browsers/browser.mjs";
import { clusterIsMissing, KEY, startCluster } from "../support/cluster.mjs";
import { sends } from "../support/encodings.mjs";
import { Participant } from "../support/participant.mjs";
import { startSite } from "../support/site.mjs";
import { waitFor } from "../support/wait.mjs";

const ROOM = "over-two-nodes";
const HD = { resolution: { width: 1280, height: 720, frameRate: 20 } };

describe("a room on two media nodes", { skip: clusterIsMissing(), timeout: 180_000 }, () => {
  const parts = [];
  let cluster;
  let open;
  before(async () => {
    cluster = await startCluster(["east", "west"]);
    parts.push(() => cluster.stop());
    const site = await startSite();
    parts.push(() => site.stop());
    const browser = await launchBrowser();
    parts.push(() => browser.close());
    open = (identity, region) => {
      const server = { url: cluster.controllers[region] };
      return Participant.open({ server, site, browser }, identity);
    };
  });
  after(async () => {
    for (const stop of parts.reverse()) await stop();
  });

  it("has each encoding over its trunk once, as far as somebody behind it wants it", async () => {
    const [ada, bob, cat] = [await open("ada", "east"), await open("bob", "west"), await open("cat", "west")];
    const options = {
      dynacast: true,
      videoCaptureDefaults: HD,
      publishDefaults: { videoCodec: "vp8", simulcast: true },
    };
    await ada.join(ROOM, { grant: KEY, options });
    await ada.publish({});
    await bob.join(ROOM, { grant: KEY, options: { adaptiveStream: false } });
    await bob.sees([ada]);
    await bob.watches(ada);
    await cat.join(ROOM, { grant: KEY, options: { adaptiveStream: false } });
    await cat.watches(ada);
    const [trunk] = await trunks();
    assert.deepEqual(trunk.ends.map((end) => end.node.name).sort(), ["media-east", "media-west"]);
    await crosses({ tracks: 2, encodings: 4 });
    const ask = (person, quality) =>
      person.run((client, it) => client.publication("ada", "camera").setVideoQuality(client.VideoQuality[it]), quality);
    await heightOf(bob, 720);

    await ask(bob, "LOW");
    await crosses({ tracks: 2, encodings: 4 });
    await heightOf(cat, 720);
    await ask(cat, "LOW");
    await crosses({ tracks: 2, encodings: 2 });
    await heightOf(bob, 180);
    await heightOf(cat, 180);
    await sends(ada, ["q"]);

    await ask(cat, "HIGH");
    await crosses({ tracks: 2, encodings: 4 });
    await heightOf(cat, 720);
    await heightOf(bob, 180);
    for (const person of [ada, bob, cat]) assert.deepEqual(person.errors, []);
    await Promise.all([ada.close(), bob.close(), cat.close()]);
    await waitFor("the trunk to close", async () => (await trunks()).length === 0, { timeout: 40_000 });
  });

  /** Trunks of all rooms, whichever controller has them. */
  async function trunks() {
    const views = [await cluster.overview("east"), await cluster.overview("west")];
    return views.flatMap((view) => view.trunks);
  }

  /** Waits until this much goes from the node in the east to the one in the west. */
  async function crosses(expected) {
    const sent = async () => {
      const ends = (await trunks())[0]?.ends ?? [];
      const { tracks, encodings } = ends.find((end) => end.node.name === "media-east") ?? {};
      return { tracks, encodings };
    };
    await waitFor(
      `${JSON.stringify(expected)} to cross`,
      async () => JSON.stringify(await sent()) === JSON.stringify(expected),
      { timeout: 15_000, onTimeout: async () => JSON.stringify(await sent()) },
    );
  }
});

/** Waits until a person decodes ada's camera in this height. */
async function heightOf(person, height) {
  const seen = async () => (await person.stats()).received.find((row) => row.from === "ada" && row.kind === "video");
  await waitFor(`${person.identity} to see ada ${height} high`, async () => (await seen())?.frameHeight === height, {
    timeout: 25_000,
    interval: 300,
    onTimeout: async () => JSON.stringify(await seen()),
  });
  await person.watches({ identity: "ada" });
}
