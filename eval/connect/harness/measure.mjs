// The servers by turns: one publisher, and one participant who joins again and again.

import { setTimeout as sleep } from "node:timers/promises";
import { token } from "../../../testkit/browsers/token.mjs";
import { layCable } from "../../../testkit/browsers/cable.mjs";
import { film } from "../../adaptation/harness/camera.mjs";
import { goFirst, load, stepBack } from "../../adaptation/harness/machine.mjs";
import { createNetwork } from "../../../testkit/browsers/network.mjs";
import { Person } from "../../../testkit/browsers/person.mjs";
import { bundle } from "../../../testkit/browsers/site.mjs";
import { complete } from "./phases.mjs";
import { installedServers } from "./servers.mjs";

const PAGE = new URL("../page/", import.meta.url).pathname;
const PEOPLE = [{ name: "publisher" }, { name: "joiner" }];
const CAMERA = { width: 640, height: 360, fps: 30 };
const BITRATE = 700_000;
/** Longer than any server ignores further requests for key frames, and no multiple of a frame. */
const PAUSE_MS = 1500;
const SPREAD_MS = 500;
/** Time for a first frame. */
const LIMIT_MS = 20_000;
/** Time of the publisher's encoder and estimator to reach their rates. */
const SETTLE_MS = 5000;
/** Joins after the start of a server that are not counted. */
const UNCOUNTED = 1;

/**
 * Measures; returns `{ servers, joins, failures }`. A join is `{ server, round, marks, connections,
 * stats, load }`.
 */
export async function measure(options) {
  const parts = [];
  try {
    return await Promise.race([conduct(options, parts), options.stopped]);
  } finally {
    for (const stop of parts.reverse()) await stop();
  }
}

async function conduct(options, parts) {
  const { folder, rounds, joins: joinsEach, rtt } = options;
  const [publisher, joiner] = PEOPLE;
  parts.push(() => stepBack());
  const network = createNetwork(options.namespaces, [publisher, { ...joiner, limited: rtt > 0 }]);
  parts.push(() => network.remove());
  if (rtt > 0) {
    const cable = await layCable(network, { seed: 1, queueMs: 300, shaper: "relay" });
    parts.push(() => cable.remove());
    cable.set("both", { delay: `${rtt / 2}ms` });
  }
  const asksFor = ({ name }) => options.only.length === 0 || options.only.includes(name);
  const servers = installedServers(folder).filter(asksFor);
  if (servers.length === 0) throw new Error("none of these servers is installed");
  const people = await openBrowsers(network, folder, parts);
  goFirst(network.namespaces);

  const joins = [];
  const failures = [];
  for (let round = 0; round < rounds; round += 1) {
    // Another server begins each round, so that periodic load of the machine meets all of them.
    const order = servers.map((_, index) => servers[(index + round) % servers.length]);
    for (const server of order) {
      const running = await server.start(network);
      parts.push(() => running.stop());
      goFirst(network.namespaces);
      await joinAgainAndAgain(people, running, { ...options, joinsEach, round, joins, failures });
      await parts.pop()();
    }
  }
  return { servers: servers.map(({ name, version }) => ({ name, version })), joins, failures };
}

async function openBrowsers(network, folder, parts) {
  const files = await bundle(PAGE);
  const camera = `${folder}/camera.y4m`;
  film(camera, { ...CAMERA, seed: 1, grain: 6 });
  const people = [];
  for (const { name } of PEOPLE) {
    const seen = name === "publisher" ? camera : undefined;
    const person = await Person.open({ name, namespace: network.namespace(name), film: seen, files, folder });
    parts.push(() => person.close());
    people.push(person);
  }
  return people;
}

async function joinAgainAndAgain([publisher, joiner], server, options) {
  const { joinsEach, round, single, simulcast, joins, failures } = options;
  const { url, key, secret, name } = server;
  const room = `connect-${round}`;
  const pass = (identity) => token(room, identity, { key, secret });
  const { width, height, fps } = CAMERA;
  const how = {
    url,
    token: pass("publisher"),
    capture: { resolution: { width, height, frameRate: fps } },
    options: { videoCodec: "vp8", simulcast, videoEncoding: { maxBitrate: BITRATE, maxFramerate: fps } },
  };
  await publisher.page.evaluate((it) => window.participant.publish(it), how);
  try {
    await sleep(SETTLE_MS);
    for (let number = 0; number < joinsEach + UNCOUNTED; number += 1) {
      await sleep(PAUSE_MS + Math.random() * SPREAD_MS);
      const how = { singlePeerConnection: single };
      const join = { url, token: pass(`joiner-${number}`), options: how, limitMs: LIMIT_MS };
      try {
        const taken = await joiner.page.evaluate((it) => window.participant.measure(it), join);
        if (number < UNCOUNTED) continue;
        joins.push({ server: name, round, ...taken, marks: complete(taken.marks), load: load() });
      } catch (error) {
        // The page of results has its first line alone.
        console.error(`${name}: ${error.message}`);
        failures.push(`${name}, round ${round + 1}: ${error.message.split("\n")[0]}`);
      }
    }
  } finally {
    await publisher.page.evaluate(() => window.participant.leave());
  }
}
