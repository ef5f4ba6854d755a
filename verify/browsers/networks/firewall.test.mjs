// Browsers in networks of their own, whose firewall lets no UDP pass, meet over TCP; and one whose
// address changes goes on.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createNetwork, run } from "../../../eval/adaptation/harness/network.mjs";
import { Person } from "../../../eval/adaptation/harness/person.mjs";
import { startServer } from "../../../eval/adaptation/harness/server.mjs";
import { shell } from "../../../eval/adaptation/harness/shell.mjs";
import { bundle } from "../../../eval/adaptation/harness/site.mjs";
import { kernelIsMissing } from "../support/kernel.mjs";
import { waitFor } from "../support/wait.mjs";

const BINARY = process.env.WEIR_BINARY ?? new URL("../../../target/release/weir", import.meta.url).pathname;
const NAMES = ["ada", "bob"];
const OPTIONS = {
  videoCodec: "vp8",
  simulcast: false,
  backupCodec: false,
  videoEncoding: { maxBitrate: 600_000, maxFramerate: 15 },
};
const CAPTURE = { resolution: { width: 640, height: 360, frameRate: 15 } };

describe("behind a firewall", { skip: kernelIsMissing(), timeout: 180_000 }, () => {
  const parts = [];
  const people = {};
  let network;

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), "weir-firewall-"));
    parts.push(() => rmSync(folder, { recursive: true, force: true }));
    network = createNetwork(
      `weir-firewall-${process.pid}`,
      NAMES.map((name) => ({ name, limited: false })),
    );
    parts.push(() => network.remove());
    for (const name of NAMES) run(network.namespace(name), "ip rule add ipproto udp blackhole");
    const command = `${BINARY} serve --dev --bind {address} --node-ip {address} --port {port} --rtc-port 7882`;
    const server = await startServer(network, folder, { key: "devkey", secret: "secret", command });
    parts.push(() => server.stop());
    const files = await bundle();
    for (const name of NAMES) {
      people[name] = await Person.open({ name, namespace: network.namespace(name), files, folder });
      parts.push(() => people[name].close());
    }
    for (const name of NAMES) await people[name].join(server, "firewall", { options: { adaptiveStream: false } });
    for (const name of NAMES) {
      await people[name].publish({ microphone: { red: false, dtx: false }, capture: CAPTURE, options: OPTIONS });
    }
  });
  after(async () => {
    for (const stop of parts.reverse()) await stop();
  });

  it("two browsers that can use only TCP see each other", { timeout: 60_000 }, async () => {
    await see(people.ada, "bob");
    await see(people.bob, "ada");
    assert.ok(connections(network) >= 2, "media passes over TCP");
  });

  it("a browser whose address changes is seen again", { timeout: 60_000 }, async () => {
    const began = Date.now();
    const ada = network.namespace("ada");
    run(ada, "ip address add 198.18.0.99/24 dev eth0", "ip address del 198.18.0.11/24 dev eth0");
    await see(people.bob, "ada", 50_000);
    await see(people.ada, "bob", 50_000);
    console.log(`media both ways ${((Date.now() - began) / 1000).toFixed(1)} s after a change of address`);
  });
});

/** Waits until frames are decoded that were not there before. */
async function see(person, name, timeout = 40_000) {
  const decoded = async () => (await person.take()).samples.at(-1)?.video[name]?.framesDecoded;
  let least;
  await waitFor(
    `${person.name} to decode ${name}'s camera`,
    async () => {
      const now = await decoded();
      if (now === undefined) return false;
      // Counters restart with a new stream.
      least = Math.min(least ?? now, now);
      return now >= least + 15;
    },
    { timeout, interval: 500 },
  );
}

/** How many connections for media the server has. */
function connections(network) {
  const question = 'fetch("http://198.18.0.1:7880/metrics").then((it) => it.text()).then(console.log)';
  const within = `ip netns exec ${network.namespace("hub")}`;
  // `shell` takes no quotes, so the question is in base64.
  const code = Buffer.from(question).toString("base64");
  const text = shell(`${within} ${process.execPath} -e eval(Buffer.from("${code}","base64").toString())`);
  return Number(/^weir_tcp_connections (\d+)$/m.exec(text)?.[1]);
}
