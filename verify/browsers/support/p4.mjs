// A meeting of browsers without encryption behind a P4 switch, which is their router to the host of
// Weir:
//
//   ada ---+
//   bob ---+--- the switch ------------- Weir ("hub")
//   cat ---+        +---- P4Runtime ------+
//
// Everybody is in a network of its own and in a network namespace of its own, and so are the switch
// and Weir. With `limited`, the cable of `testkit/browsers` is between a participant and the
// switch.

import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join as joinPath } from "node:path";
import { addNamespace, join, removeNamespace, run, SERVER_ADDRESS } from "../../../testkit/browsers/network.mjs";
import { KernelMeeting, kernelIsMissing } from "./kernel.mjs";
import { waitFor } from "./wait.mjs";

const BINARY = process.env.WEIR_BINARY ?? new URL("../../../target/release/weir", import.meta.url).pathname;
// `cargo build -p switch-sim` leaves it beside Weir.
const SIMULATOR = joinPath(dirname(BINARY), "weir-switch-sim");
const BMV2 = process.env.BMV2 ?? "simple_switch_grpc";

/** The port of the switch behind which Weir is; participants follow. */
const HOST_PORT = 1;
const CPU_PORT = 510;
/** The switch and Weir, as P4Runtime connects them. */
const [MANAGEMENT, MANAGED] = ["198.19.0.1", "198.19.0.2"];
const RUNTIME_PORT = 9559;
const STARTUP_MS = 15_000;

/** The network of a port: its own address is .254, and its machine's .1. */
const address = (port, last) => `198.18.${port - HOST_PORT}.${last}`;
const mac = (port, last) => `02:00:00:00:0${port}:${last}`;

/** The switches that there are here: the simulator, and BMv2 if it is installed. */
export const SWITCHES = [
  { name: "weir-switch-sim", command: simulator, isMissing: () => !succeeds(SIMULATOR, "--help") },
  { name: "BMv2", command: bmv2, isMissing: () => !succeeds("sh", "-c", `command -v ${BMV2}`) },
];

function simulator(ports) {
  const interfaces = ports.flatMap(({ port, place }) => ["--port", `${port}@${place}`]);
  return [SIMULATOR, "--listen", `${MANAGED}:${RUNTIME_PORT}`, ...interfaces];
}

function bmv2(ports) {
  const interfaces = ports.flatMap(({ port, place }) => ["-i", `${port}@${place}`]);
  const own = ["--no-p4", "--device-id", "1", "--log-level", "off"];
  const target = ["--grpc-server-addr", `${MANAGED}:${RUNTIME_PORT}`, "--cpu-port", `${CPU_PORT}`];
  // It drops packets once 64 wait for one of its threads, as beside busy browsers, and packets that
  // it sends late lower their REMB.
  const first = succeeds("chrt", "--version") ? ["chrt", "--rr", "10"] : [];
  return [...first, BMV2, ...own, ...interfaces, "--", ...target];
}

function succeeds(program, ...rest) {
  try {
    execFileSync(program, rest, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Why there can be no meeting through this switch here, or false. `make p4-check` needs all. */
export function switchIsMissing(kind) {
  const reason = kernelIsMissing() || (kind.isMissing() && `needs ${kind.name}`);
  if (reason && process.env.P4_CHECK) throw new Error(`${kind.name}: ${reason}`);
  return reason;
}

/** A network with a switch, Weir behind it, and people in a room of that. */
export class SwitchMeeting extends KernelMeeting {
  #program;

  constructor(names, { command }) {
    super(names);
    const places = ["hub", ...names];
    this.ports = places.map((place, index) => ({ place, port: HOST_PORT + index }));
    this.#program = command(this.ports);
  }

  /** Makes the network and starts the switch, without a program in it. */
  async connect({ limited, adapted = true, replication = "multicast" } = {}) {
    this.#writeSettings(adapted, replication);
    this.network = this.#lay(limited);
    this.atEnd(() => this.network.remove());
    this.atEnd(() => this.server?.stop());
    this.atEnd(() => this.stopSwitch());
    await this.startSwitch();
  }

  /** Starts Weir, and waits until the switch passes on what people send to it. */
  async serve() {
    await super.serve();
    const question = `fetch("http://${SERVER_ADDRESS}:7880/healthz").then(() => console.log("answered"))`;
    const isReached = () => {
      try {
        return this.#in(this.names[0], "timeout", "2", process.execPath, "-e", question).includes("answered");
      } catch {
        return false;
      }
    };
    await waitFor("the switch to pass on packets", isReached, {
      timeout: STARTUP_MS,
      onTimeout: () => this.switch.log(),
    });
  }

  async startSwitch() {
    const path = joinPath(this.folder, "switch.log");
    const log = openSync(path, "w");
    const within = ["netns", "exec", this.network.namespace("switch"), ...this.#program];
    const child = spawn("ip", within, { stdio: ["ignore", log, log], cwd: this.folder });
    closeSync(log);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    this.switch = { child, ended, log: () => readFileSync(path, "utf8").slice(-4000) };
    const listening = new RegExp(`:${RUNTIME_PORT.toString(16).toUpperCase()} [0-9A-F]+:0000 0A`);
    const listens = () => child.exitCode === null && listening.test(this.#in("switch", "cat", "/proc/net/tcp"));
    await waitFor("the switch to listen", listens, { timeout: STARTUP_MS, onTimeout: () => this.switch.log() });
  }

  async stopSwitch(signal = "SIGKILL") {
    this.switch?.child.kill(signal);
    await this.switch?.ended;
  }

  /** The places of entries, as `weir inspect` lists them: `[entry, place]`. */
  places() {
    const listed = this.inHub(BINARY, "inspect", "--server", `${SERVER_ADDRESS}:7880`);
    return listed.split("\n").map((line) => line.split("\t"));
  }

  /** How many replicas the switch sends. */
  replicasOnSwitch() {
    return this.places().filter(([entry, place]) => entry.startsWith("replica ") && place === "switch").length;
  }

  #in(place, ...command) {
    return execFileSync("ip", ["netns", "exec", this.network.namespace(place), ...command]).toString();
  }

  #lay(limited) {
    const within = (place) => `weir-p4-${process.pid}-${place}`;
    const places = ["switch", "cable", ...this.ports.map(({ place }) => place)];
    const remove = () => {
      for (const place of places) removeNamespace(within(place));
    };
    try {
      for (const place of places) addNamespace(within(place));
      for (const { place, port } of this.ports) {
        if (place === limited) {
          join([within(place), "eth0"], [within("cable"), "near"]);
          join([within("cable"), "far"], [within("switch"), place]);
          run(within("cable"), "ip link set near promisc on", "ip link set far promisc on");
        } else {
          join([within(place), "eth0"], [within("switch"), place]);
        }
        run(within("switch"), `ip link set ${place} address ${mac(port, "fe")}`);
        run(
          within(place),
          `ip link set eth0 address ${mac(port, "01")}`,
          `ip address add ${address(port, 1)}/24 dev eth0`,
          `ip route add default via ${address(port, 254)}`,
        );
      }
      join([within("hub"), "manage"], [within("switch"), "manage"]);
      run(within("hub"), `ip address add ${MANAGEMENT}/24 dev manage`);
      run(within("switch"), `ip address add ${MANAGED}/24 dev manage`);
    } catch (error) {
      remove();
      throw error;
    }
    return { namespace: within, namespaces: places.map(within), remove };
  }

  #writeSettings(adapted, replication) {
    const port = ({ port }) => {
      const route = `{to: ${address(port, 0)}/24, via: "${mac(port, "01")}"}`;
      return `      - {port: ${port}, mac: "${mac(port, "fe")}", addresses: [${address(port, 254)}], routes: [${route}]}`;
    };
    const settings = [
      "rtc:",
      "  clear_rtp: true",
      `  adaptation: ${adapted}`,
      "  offload: p4",
      "  p4:",
      `    switch: ${MANAGED}:${RUNTIME_PORT}`,
      `    host: ${HOST_PORT}`,
      `    replication: ${replication}`,
      "    rooms: copy_and_pass",
      "    ports:",
      ...this.ports.map(port),
    ];
    writeFileSync(joinPath(this.folder, "weir.yaml"), `${settings.join("\n")}\n`);
  }
}
