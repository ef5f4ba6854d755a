// Browsers in networks of their own, and a Weir that they reach only in part.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { createNetwork, run, SERVER_ADDRESS } from "../../../testkit/browsers/network.mjs";
import { Person } from "../../../testkit/browsers/person.mjs";
import { startServer } from "../../../testkit/browsers/server.mjs";
import { bundle } from "../../../testkit/browsers/site.mjs";
import { BINARY, CAPTURE, kernelIsMissing, VIDEO } from "./kernel.mjs";
import { waitFor } from "./wait.mjs";

const NAMES = ["ada", "bob"];

/** Settings for a meeting of browsers that reach media beside HTTPS, at port 443. */
export const BESIDE_HTTPS = {
  url: `wss://${SERVER_ADDRESS}:443`,
  options: "--dev-tls=443",
  configuration: `turn: {tls: true, urls: ["turns:${SERVER_ADDRESS}:443?transport=tcp"]}\n`,
  flags: ["--ignore-certificate-errors"],
};

/** Runs commands in these places of a network. */
export function inEach(network, places, ...lines) {
  for (const place of places) run(network.namespace(place), ...lines);
}

/** A restriction: no UDP passes. */
export function withoutUdp(network, names) {
  inEach(network, names, "ip rule add ipproto udp blackhole");
}

/** A suite with a meeting of its own, as `IsolatedMeeting.meet` makes it. */
export function describeMeeting(title, how, tests, skip = kernelIsMissing()) {
  describe(title, { skip, timeout: 180_000 }, () => {
    const world = new IsolatedMeeting();
    before(() => world.meet(how));
    after(() => world.close());
    tests(world);
  });
}

/** Two people, ada and bob, each in a namespace, and the server in the hub between them. */
export class IsolatedMeeting {
  #parts = [];
  #host;
  people = {};

  /**
   * Everybody joins and publishes. `restrict(network, names)` changes the network beforehand.
   * `host` is the server's in URLs, `address` the one it binds to, `url` that of signalling;
   * `options` and `configuration` are more for the server, and `flags` for the browsers. The
   * `limited` person has no cable until `restrict` lays it.
   */
  async meet({
    restrict = () => {},
    address = SERVER_ADDRESS,
    host = address,
    url,
    options = "",
    configuration = "",
    flags = [],
    limited,
  }) {
    this.#host = host;
    const folder = mkdtempSync(join(tmpdir(), "weir-isolated-"));
    this.#parts.push(() => rmSync(folder, { recursive: true, force: true }));
    this.network = createNetwork(
      `weir-isolated-${process.pid}`,
      NAMES.map((name) => ({ name, limited: name === limited })),
    );
    this.#parts.push(() => this.network.remove());
    await restrict(this.network, NAMES);
    const settings = join(folder, "weir.yaml");
    writeFileSync(settings, configuration);
    const where = `--bind ${address} --node-ip ${address} --port {port} --rtc-port 7882`;
    const command = `${BINARY} serve --dev ${where} --config ${settings} ${options}`.trim();
    const started = await startServer(this.network, folder, { key: "devkey", secret: "secret", command });
    this.#parts.push(() => started.stop());
    const server = { ...started, url: url ?? `ws://${host}:7880` };
    const files = await bundle();
    for (const name of NAMES) {
      const person = await Person.open({ name, namespace: this.network.namespace(name), files, folder, flags });
      this.people[name] = person;
      this.#parts.push(() => person.close());
    }
    const everybody = Object.values(this.people);
    for (const person of everybody) await person.join(server, "isolated", { options: { adaptiveStream: false } });
    for (const person of everybody) {
      await person.publish({ microphone: { red: false, dtx: false }, capture: CAPTURE, options: VIDEO });
    }
  }

  /** Runs commands in a person's namespace. */
  within(name, ...lines) {
    run(this.network.namespace(name), ...lines);
  }

  /** Waits until both decode frames of each other that were not there before. */
  async sees(timeout = 40_000) {
    const { ada, bob } = this.people;
    await Promise.all([see(ada, "bob", timeout), see(bob, "ada", timeout)]);
  }

  /** One of the server's metrics, by its whole name. */
  figure(name) {
    const question = `fetch("http://${this.#host}:7880/metrics").then((it) => it.text()).then(console.log)`;
    const within = ["netns", "exec", this.network.namespace("hub"), process.execPath, "-e", question];
    const text = execFileSync("ip", within).toString();
    const line = text.split("\n").find((it) => it.startsWith(`${name} `));
    return Number(line?.split(" ").at(-1));
  }

  async close() {
    for (const stop of this.#parts.reverse()) await stop();
  }
}

/** Waits until frames are decoded that were not there before. */
async function see(person, name, timeout) {
  let least;
  await waitFor(
    `${person.name} to decode ${name}'s camera`,
    async () => {
      const decoded = (await person.take()).samples.at(-1)?.video[name]?.framesDecoded;
      if (decoded === undefined) return false;
      // Counters restart with a new stream.
      least = Math.min(least ?? decoded, decoded);
      return decoded >= least + 15;
    },
    { timeout, interval: 500 },
  );
}
