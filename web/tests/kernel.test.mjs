// Three Chromium without encryption, in network namespaces of their own, meet through the kernel: their media is copied there, and none of it
// reaches the switch.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createNetwork } from "../../eval/adaptation/rig/network.mjs";
import { Person } from "../../eval/adaptation/rig/person.mjs";
import { startServer } from "../../eval/adaptation/rig/server.mjs";
import { bundle } from "../../eval/adaptation/rig/site.mjs";
import { IN_CLEAR } from "./support/clear.mjs";
import { sleep } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
const SETTLE_S = 6;
const WATCH_S = 10;
const BINARY = process.env.WEIR_BINARY ?? new URL("../../target/release/weir", import.meta.url).pathname;
const CAPTURE = { resolution: { width: 640, height: 360, frameRate: 15 } };
const VIDEO = {
  videoCodec: "vp8",
  simulcast: false,
  backupCodec: false,
  videoEncoding: { maxBitrate: 600_000, maxFramerate: 15 },
};

/** Programs in the kernel, and namespaces, are root's. */
function missing() {
  if (process.getuid() !== 0) return "root";
  if (process.env.WEIR_OWN !== "1") return "a Weir of its own";
  for (const tool of ["ip", "ethtool"]) {
    try {
      execFileSync("sh", ["-c", `command -v ${tool}`]);
    } catch {
      return tool;
    }
  }
  return undefined;
}

const SKIP = missing() ? `needs ${missing()}` : false;

describe("through the kernel", { skip: SKIP, timeout: 150_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-kernel-"));
  const parts = [() => rmSync(folder, { recursive: true, force: true })];
  const people = [];
  let network;

  before(async () => {
    network = createNetwork(
      `weir-kernel-${process.pid}`,
      NAMES.map((name) => ({ name })),
    );
    parts.push(() => network.remove());
    // What an interface has made one of several packets cannot be copied.
    inHub("ethtool", "-K", "bridge", "gro", "off");
    const configuration = join(folder, "weir.yaml");
    writeFileSync(
      configuration,
      'rtc: {clear_rtp: true, offload: ebpf, ebpf: {interfaces: [bridge], rooms: unseen, pins: ""}}\n',
    );
    const where = "--bind {address} --node-ip {address} --port {port} --rtc-port 7882";
    const command = `${BINARY} serve --dev ${where} --config ${configuration}`;
    const server = await startServer(network, folder, { key: "devkey", secret: "secret", command });
    parts.push(() => server.stop());
    const files = await bundle();
    for (const name of NAMES) {
      const person = await Person.open({ name, namespace: network.namespace(name), files, folder, ...IN_CLEAR });
      parts.push(() => person.close());
      people.push(person);
    }
    for (const person of people) await person.join(server, "kernel", { options: { adaptiveStream: false } });
    for (const person of people) {
      await person.publish({ microphone: { red: false, dtx: false }, capture: CAPTURE, options: VIDEO });
    }
    await sleep(SETTLE_S * 1000);
  });
  after(async () => {
    for (const stop of parts.reverse()) await stop();
  });

  it("three people see and hear each other, and userspace sees none of it", async () => {
    const before = await figures();
    await sleep(WATCH_S * 1000);
    const now = await figures();
    const { counters } = now;
    const passed = (reason) => counters[reason] - before.counters[reason];
    console.log(
      `in ${WATCH_S} s: forwarded ${passed("forwarded")}, of ${passed("received")} received` +
        ` (${passed("punted_rtcp")} RTCP, ${passed("punted_stun")} STUN); seen by userspace: ${passed("no_replica")}`,
    );
    for (const watcher of NAMES) {
      for (const publisher of NAMES.filter((name) => name !== watcher)) {
        const sent = now.sent[publisher] - before.sent[publisher];
        const decoded = now.seen[watcher][publisher].framesDecoded - before.seen[watcher][publisher].framesDecoded;
        const { freezeCount, packetsLost, frameHeight } = now.seen[watcher][publisher];
        console.log(`  ${watcher} watching ${publisher}: ${decoded} of ${sent} frames, ${frameHeight} lines`);
        assert.ok(sent > 0 && decoded >= 0.9 * sent, `${watcher} watching ${publisher}: ${decoded} of ${sent}`);
        assert.deepEqual([freezeCount, packetsLost, frameHeight], [0, 0, 360]);
        const heard = now.heard[watcher][publisher].packetsReceived - before.heard[watcher][publisher].packetsReceived;
        assert.ok(heard >= 45 * WATCH_S, `${watcher} hearing ${publisher}: ${heard} packets`);
      }
    }
    assert.ok(passed("forwarded") > 0);
    assert.equal(passed("no_replica") + passed("not_selected") + passed("unknown_stream"), 0, "media in userspace");
    // Two copies of everything that is no question and no report.
    const media = passed("received") - passed("punted_rtcp") - passed("punted_stun");
    assert.ok(Math.abs(passed("forwarded") - 2 * media) <= 0.01 * media, "each packet to the two others");
  });

  /** What the server counted, what everybody sent, and what everybody saw and heard. */
  async function figures() {
    const taken = await Promise.all(people.map((person) => person.take()));
    const samples = Object.fromEntries(NAMES.map((name, index) => [name, taken[index].samples.at(-1)]));
    const of = (part) => Object.fromEntries(NAMES.map((name) => [name, part(samples[name])]));
    return {
      counters: counters(),
      sent: of(({ sent }) => Math.max(...Object.values(sent).map(({ framesSent }) => framesSent))),
      seen: of(({ video }) => video),
      heard: of(({ audio }) => audio),
    };
  }

  function counters() {
    const question = 'fetch("http://198.18.0.1:7880/metrics").then((it) => it.text()).then(console.log)';
    const lines = inHub(process.execPath, "-e", question).matchAll(/^weir_dataplane_total\{reason="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...lines].map(([, reason, count]) => [reason, Number(count)]));
  }

  function inHub(...command) {
    return execFileSync("ip", ["netns", "exec", network.namespace("hub"), ...command]).toString();
  }
});
