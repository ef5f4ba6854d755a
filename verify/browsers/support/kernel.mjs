// A meeting of browsers without encryption, each in a network namespace of its own, whose media the
// kernel copies.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IN_CLEAR } from "../../../testkit/browsers/clear.mjs";
import { createNetwork } from "../../../testkit/browsers/network.mjs";
import { Person } from "../../../testkit/browsers/person.mjs";
import { startServer } from "../../../testkit/browsers/server.mjs";
import { bundle } from "../../../testkit/browsers/site.mjs";
import { sleep, waitFor } from "./wait.mjs";

export const BINARY = process.env.WEIR_BINARY ?? new URL("../../../target/release/weir", import.meta.url).pathname;
export const CAPTURE = { resolution: { width: 640, height: 360, frameRate: 15 } };
export const VIDEO = {
  videoCodec: "vp8",
  simulcast: false,
  backupCodec: false,
  videoEncoding: { maxBitrate: 600_000, maxFramerate: 15 },
};

/** Frames per second, of an encoding that counts as sent. */
const LEAST_FRAMES = 3;
const MET_MS = 30_000;

/** Why there can be none here, or false: programs in the kernel, and namespaces, are root's. */
export function kernelIsMissing() {
  if (process.getuid() !== 0) return "needs root";
  if (process.env.WEIR_OWN !== "1") return "needs a Weir of its own";
  for (const tool of ["ip", "ethtool"]) {
    try {
      execFileSync("sh", ["-c", `command -v ${tool}`]);
    } catch {
      return `needs ${tool}`;
    }
  }
  return false;
}

/**
 * A network with a Weir in its hub, and people in a room of it. `close()` removes everything,
 * including what was created only in part.
 */
export class KernelMeeting {
  #parts = [];
  #newest = {};
  people = [];

  constructor(names) {
    this.names = names;
    /** Events of connections, as far as they were taken: `[time, event, reason]`. */
    this.events = Object.fromEntries(names.map((name) => [name, []]));
    this.folder = mkdtempSync(join(tmpdir(), "weir-kernel-"));
    this.#parts.push(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  /**
   * Makes the network, with a folder for pins if `keeps`, and a cable in front of the `limited`
   * participant. Without `adapted`, what is sent to participants does not depend on the capacity of
   * their downlinks.
   */
  connect({ keeps = false, limited, adapted = true } = {}) {
    this.#writeSettings(keeps ? join(this.#mountPins(), "weir") : "", adapted);
    this.network = createNetwork(
      `weir-kernel-${process.pid}`,
      this.names.map((name) => ({ name, limited: name === limited })),
    );
    this.#parts.push(() => this.network.remove());
    // A packet that an interface has merged from several cannot be copied.
    this.inHub("ethtool", "-K", "bridge", "gro", "off");
    this.#parts.push(() => this.server?.stop());
  }

  /** Starts Weir, in the place of the last one if there was any. */
  async serve() {
    const where = "--bind {address} --node-ip {address} --port {port} --rtc-port 7882";
    const command = `${BINARY} serve --dev ${where} --config ${join(this.folder, "weir.yaml")}`;
    this.server = await startServer(this.network, this.folder, { key: "devkey", secret: "secret", command });
  }

  /**
   * Everybody joins, all or some of them publish, and they meet: `video` overrides the usual
   * settings here, and `frameRate` that of the camera.
   */
  async meet(video = {}, publishers = this.names, frameRate = CAPTURE.resolution.frameRate) {
    const files = await bundle();
    const flags = [...IN_CLEAR.flags, `--use-fake-device-for-media-stream=fps=${frameRate}`];
    for (const name of this.names) {
      const namespace = this.network.namespace(name);
      const person = await Person.open({ name, namespace, files, folder: this.folder, ...IN_CLEAR, flags });
      this.#parts.push(() => person.close());
      this.people.push(person);
    }
    for (const person of this.people) await person.join(this.server, "kernel", { options: { adaptiveStream: false } });
    for (const person of this.people.filter(({ name }) => publishers.includes(name))) {
      const options = { ...VIDEO, ...video };
      const capture = { resolution: { ...CAPTURE.resolution, frameRate } };
      await person.publish({ microphone: { red: false, dtx: false }, capture, options });
    }
    await this.met(publishers);
  }

  /** Waits until everybody has decoded frames of each other publisher, and has its audio. */
  async met(publishers = this.names) {
    let missing;
    const haveMet = async () => {
      const newest = await this.newest();
      missing = this.#pairs(publishers).filter(({ watcher, publisher }) => !receives(newest[watcher], publisher));
      return missing.length === 0;
    };
    await waitFor("everybody to see and hear the others", haveMet, {
      timeout: MET_MS,
      interval: 300,
      onTimeout: () => missing.map(({ who }) => who).join(", "),
    });
  }

  /** Recordings of everybody since the last call, by name. */
  async take() {
    const taken = await Promise.all(this.people.map((person) => person.take()));
    for (const [index, { events }] of taken.entries()) this.events[this.names[index]].push(...events);
    return Object.fromEntries(this.names.map((name, index) => [name, taken[index]]));
  }

  /**
   * The newest sample of everybody, by name; the earlier one if nothing new was recorded since the
   * last call.
   */
  async newest() {
    for (const [name, { samples }] of Object.entries(await this.take())) {
      this.#newest[name] = samples.at(-1) ?? this.#newest[name];
    }
    return this.#newest;
  }

  /** Media of so many seconds: for each pair, what one sent, and the other saw and heard of it. */
  async watch(seconds) {
    const before = { ...(await this.newest()) };
    await sleep(seconds * 1000);
    const now = await this.newest();
    return this.#pairs(this.names).map(({ watcher, publisher, who }) => {
      const [had, has] = [before[watcher], now[watcher]];
      const seen = differences(had.video[publisher], has.video[publisher]);
      const heard = differences(had.audio[publisher], has.audio[publisher]);
      return {
        watcher,
        publisher,
        who,
        seconds: Math.round((has.time - had.time) / 100) / 10,
        ...sentBetween(before[publisher], now[publisher]),
        frames: seen.framesDecoded,
        height: has.video[publisher].frameHeight,
        freezes: seen.freezeCount,
        lost: seen.packetsLost,
        nacks: seen.nackCount,
        plis: seen.pliCount,
        heard: heard.packetsReceived,
      };
    });
  }

  /** Everybody with each of these others. */
  #pairs(publishers) {
    return publishers.flatMap((publisher) =>
      this.names
        .filter((name) => name !== publisher)
        .map((watcher) => ({ watcher, publisher, who: `${watcher} watching ${publisher}` })),
    );
  }

  /** The server's counters. */
  counters() {
    const question = 'fetch("http://198.18.0.1:7880/metrics").then((it) => it.text()).then(console.log)';
    const text = this.inHub(process.execPath, "-e", question);
    const lines = text.matchAll(/^weir_dataplane_total\{reason="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...lines].map(([, reason, count]) => [reason, Number(count)]));
  }

  inHub(...command) {
    return execFileSync("ip", ["netns", "exec", this.network.namespace("hub"), ...command]).toString();
  }

  /** Has this done at the end, before everything that was begun earlier is undone. */
  atEnd(stop) {
    this.#parts.push(stop);
  }

  async close() {
    for (const stop of this.#parts.reverse()) await stop();
  }

  /** A BPF file system of its own. */
  #mountPins() {
    const pins = join(this.folder, "bpf");
    mkdirSync(pins);
    execFileSync("mount", ["-t", "bpf", "bpf", pins]);
    this.#parts.push(() => execFileSync("umount", [pins]));
    return pins;
  }

  #writeSettings(pins, adapted) {
    const ebpf = `{interfaces: [bridge], rooms: copy, pins: "${pins}"}`;
    writeFileSync(
      join(this.folder, "weir.yaml"),
      `rtc: {clear_rtp: true, adaptation: ${adapted}, offload: ebpf, ebpf: ${ebpf}}\n`,
    );
  }
}

/** Whether a sample has both media of a publisher. */
function receives(sample, publisher) {
  return sample?.video[publisher]?.framesDecoded > 0 && sample.audio[publisher]?.packetsReceived > 0;
}

/** Totals become differences. */
function differences(before, now) {
  return Object.fromEntries(Object.entries(now).map(([name, value]) => [name, value - before[name]]));
}

/** The frames of the busiest encoding between two samples, and the lines of the largest. */
function sentBetween(before, now) {
  const seconds = (now.time - before.time) / 1000;
  const encodings = Object.entries(now.sent).map(([rid, { framesSent, frameHeight }]) => ({
    frames: framesSent - (before.sent[rid]?.framesSent ?? 0),
    lines: frameHeight,
  }));
  const current = encodings.filter(({ frames }) => frames >= LEAST_FRAMES * seconds);
  return {
    sent: Math.max(...encodings.map(({ frames }) => frames)),
    lines: Math.max(...current.map(({ lines }) => lines)),
  };
}
