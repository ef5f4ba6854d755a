// A cluster whose machines are hosts of a network, and browsers at others: the machine of a media
// node vanishes.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createNetwork } from "../../../testkit/browsers/network.mjs";
import { Person } from "../../../testkit/browsers/person.mjs";
import { bundle } from "../../../testkit/browsers/site.mjs";
import { clusterIsMissing, KEY, machinesOf, startCluster } from "../support/cluster.mjs";
import { CAPTURE, kernelIsMissing, VIDEO } from "../support/kernel.mjs";
import { sleep, waitFor } from "../support/wait.mjs";

const REGIONS = ["east", "west"];
/** The region of everybody's controller, and so of their media node. */
const PEOPLE = { ada: "east", bob: "west", cat: "west" };
const BACK_MAX_S = 12;

describe("a media node whose machine vanishes", {
  skip: clusterIsMissing() || kernelIsMissing(),
  timeout: 180_000,
}, () => {
  const parts = [];
  const people = {};
  let network;
  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), "weir-vanishing-"));
    parts.push(() => rmSync(folder, { recursive: true, force: true }));
    const names = [...machinesOf(REGIONS), ...Object.keys(PEOPLE)];
    network = createNetwork(
      `weir-vanishing-${process.pid}`,
      names.map((name) => ({ name, limited: false })),
    );
    parts.push(() => network.remove());
    const cluster = await startCluster(REGIONS, network);
    parts.push(() => cluster.stop());
    const files = await bundle();
    for (const [name, region] of Object.entries(PEOPLE)) {
      const person = await Person.open({ name, namespace: network.namespace(name), files, folder });
      parts.push(() => person.close());
      people[name] = person;
      const server = { url: cluster.controllers[region].replace("http", "ws"), ...KEY };
      await person.join(server, "over-two-regions", { options: { adaptiveStream: false } });
    }
    for (const person of Object.values(people)) {
      await person.publish({ microphone: { red: false, dtx: false }, capture: CAPTURE, options: VIDEO });
    }
    await Promise.all(pairs().map(([watcher, publisher]) => decodes(watcher, publisher, 40)));
  });
  after(async () => {
    for (const stop of parts.reverse()) await stop();
  });

  it("costs its people some seconds, and the others nothing", async (test) => {
    const [before, unplugged] = [await sample("bob"), Date.now()];
    network.unplug("media-east");
    // Nobody notices at once.
    await sleep(1000);
    const lost = pairs().filter((pair) => pair.includes("ada"));
    await Promise.all(lost.map(([watcher, publisher]) => decodes(watcher, publisher, 40)));
    const took = (Date.now() - unplugged) / 1000;
    test.diagnostic(`ada is back ${took.toFixed(1)} s after the machine of her media node has vanished`);
    const [was, is] = [before.video.cat, (await sample("bob")).video.cat];
    const seen = is.framesDecoded - was.framesDecoded;
    test.diagnostic(
      `bob has decoded ${seen} frames of cat meanwhile, with ${is.freezeCount - was.freezeCount} freezes`,
    );
    assert.ok(took <= BACK_MAX_S, `${took} s`);
    assert.equal(is.freezeCount, was.freezeCount);
    assert.equal(is.packetsLost, was.packetsLost);
  });

  /** Everybody with each other. */
  function pairs() {
    const names = Object.keys(PEOPLE);
    return names.flatMap((watcher) => names.filter((name) => name !== watcher).map((name) => [watcher, name]));
  }

  async function sample(name) {
    const newest = async () => (await people[name].take()).samples.at(-1);
    return waitFor(`a sample of ${name}`, newest, { timeout: 5_000, interval: 100 });
  }

  /** Waits until somebody decodes frames of a publisher that were not there before. */
  async function decodes(watcher, publisher, seconds) {
    let least;
    const flows = async () => {
      const decoded = (await people[watcher].take()).samples.at(-1)?.video[publisher]?.framesDecoded;
      if (decoded === undefined) return false;
      // Counters restart with a new stream.
      least = Math.min(least ?? decoded, decoded);
      return decoded >= least + 5;
    };
    const onTimeout = () => `${least}`;
    await waitFor(`${watcher} to decode ${publisher}`, flows, { timeout: 1000 * seconds, interval: 200, onTimeout });
  }
});
