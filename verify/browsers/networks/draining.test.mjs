// A media node that drains: Chromium moves to another one, and keeps its session.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { launchBrowser } from "../../../testkit/browsers/browser.mjs";
import { clusterIsMissing, KEY, startCluster } from "../support/cluster.mjs";
import { Participant } from "../support/participant.mjs";
import { startSite } from "../support/site.mjs";
import { sleep } from "../support/wait.mjs";

const ROOM = "on-the-move";
const SMALL = { resolution: { width: 320, height: 180, frameRate: 20 } };
const GAP_MAX_MS = 3000;

for (const singlePeerConnection of [true, false]) {
  const kind = singlePeerConnection ? "one peer connection" : "two peer connections";
  describe(`a media node that drains, and ${kind}`, { skip: clusterIsMissing(), timeout: 120_000 }, () => {
    const parts = [];
    const people = [];
    let cluster;
    before(async () => {
      cluster = await startCluster(["east", "west"]);
      parts.push(() => cluster.stop());
      const site = await startSite();
      parts.push(() => site.stop());
      const browser = await launchBrowser();
      parts.push(() => browser.close());
      const server = { url: cluster.controllers.east };
      const options = { singlePeerConnection, adaptiveStream: false, videoCaptureDefaults: SMALL };
      for (const identity of ["ada", "bob"]) {
        const person = await Participant.open({ server, site, browser }, identity);
        await person.join(ROOM, { grant: KEY, options });
        people.push(person);
      }
      for (const person of people) await person.publish({});
    });
    after(async () => {
      for (const stop of parts.reverse()) await stop();
    });

    it("sends its people to another one with their sessions", async (test) => {
      const [ada, bob] = people;
      const pairs = [
        [ada, bob],
        [bob, ada],
      ];
      await Promise.all(pairs.map(([watcher, publisher]) => watcher.watches(publisher)));
      const sids = () => Promise.all(people.map((person) => person.run((client) => client.room.localParticipant.sid)));
      const stays = await sids();
      let isOver = false;
      const gaps = Promise.all(pairs.map((pair) => longestGap(...pair, () => isOver)));
      await cluster.end("media-east", 40_000);
      await sleep(2000);
      isOver = true;
      for (const [index, gap] of (await gaps).entries()) {
        test.diagnostic(`${pairs[index][0].identity} decodes nothing for ${gap} ms at most`);
        assert.ok(gap <= GAP_MAX_MS, `${gap} ms`);
      }
      assert.deepEqual(await sids(), stays, "nobody has joined anew");
    });
  });
}

/** The longest time in which a watcher decoded no frame of a publisher, until it is over. */
async function longestGap(watcher, publisher, isOver) {
  let [last, since, longest] = [undefined, Date.now(), 0];
  while (!isOver()) {
    const rows = (await watcher.stats()).received;
    const row = rows.find(({ from, kind }) => from === publisher.identity && kind === "video");
    const now = Date.now();
    if (row?.framesDecoded !== last) {
      if (last !== undefined) longest = Math.max(longest, now - since);
      [last, since] = [row?.framesDecoded, now];
    }
    await sleep(20);
  }
  return Math.max(longest, Date.now() - since);
}
