// The limited participant's cable: its rate is set by the kernel's token bucket, everything else by
// the relay.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { hasTokenBucket } from "./network.mjs";
import { shell, succeeds } from "./shell.mjs";

const NETEM = process.env.NETEM_BINARY ?? new URL("../../target/release/weir-netem", import.meta.url).pathname;
const END_MS = 3000;
/** Two frames: with less no frame passes, with more the far end sees bursts. Shape: bytes. */
const BUCKET = 3100;
/** A queue holds some packets even on a slow line. Shape: bytes. */
const QUEUE_MIN = 10_000;

/**
 * Lays the cable. `shaper` is "tc", "relay" or "auto": the kernel's token bucket where there is
 * one.
 */
export async function layCable(network, { seed, queueMs, shaper }) {
  const space = network.namespace("cable");
  const kernel = shaper === "tc" || (shaper === "auto" && hasTokenBucket(network));
  const relay = spawn("ip", ["netns", "exec", space, NETEM, "near", "far", "--seed", `${seed}`], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const ended = new Promise((resolve) => {
    relay.once("exit", resolve);
    relay.once("error", resolve);
  });
  const reports = [];
  createInterface({ input: relay.stdout }).on("line", (line) => reports.push(JSON.parse(line)));
  const say = (line) => relay.stdin.write(`${line}\n`);
  relay.stdin.on("error", () => {});
  say(`both queue ${queueMs}ms`);

  return {
    shaper: kernel ? "tc tbf" : "weir-netem",
    /**
     * Settings as the relay reads them, of one direction: `{ rate, loss, delay }`; rate in bits a
     * second or none.
     */
    set(direction, settings) {
      const { rate, ...others } = settings;
      const words = Object.entries(others).map(([name, value]) => `${name} ${value}`);
      if (rate !== undefined && kernel) limit(space, direction, rate, queueMs);
      if (rate !== undefined && !kernel) words.push(`rate ${rate ?? "none"}`);
      if (words.length > 0) say(`${direction} ${words.join(" ")}`);
    },
    /** Ends the relay; returns its last counts of frames. */
    async remove() {
      relay.stdin.end();
      const late = setTimeout(() => relay.kill("SIGKILL"), END_MS);
      await ended;
      clearTimeout(late);
      return reports.at(-1);
    },
  };
}

function limit(space, direction, rate, queueMs) {
  const sides = { down: ["near"], up: ["far"], both: ["near", "far"] }[direction];
  for (const side of sides) {
    const qdisc = `ip netns exec ${space} tc qdisc`;
    if (rate === null) {
      // There may be none.
      succeeds(`${qdisc} delete dev ${side} root`);
    } else {
      const queue = Math.max(QUEUE_MIN, Math.round((rate / 8) * (queueMs / 1000)));
      shell(`${qdisc} replace dev ${side} root handle 1: tbf rate ${rate}bit burst ${BUCKET} limit ${queue + BUCKET}`);
    }
  }
}
