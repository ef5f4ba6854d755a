// Scallop, Table 1: the packets that three browsers send to the server, by type. Media is AV1 L1T3
// without encryption, so that reports can be read. Writes docs/papers/packets.csv.
//
// Usage: node eval/papers/packets.mjs [SECONDS]. Needs root, for network namespaces.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { KernelMeeting } from "../../verify/browsers/support/kernel.mjs";
import { sleep } from "../../verify/browsers/support/wait.mjs";

const NAMES = ["ada", "bob", "cyd"];
const SETTLE_S = 10;
const PORT = 7882;
const FPS = 30;
const VIDEO = {
  videoCodec: "av1",
  scalabilityMode: "L1T3",
  videoEncoding: { maxBitrate: 550_000, maxFramerate: FPS },
};
/** The types of capture.py, and the paper's plane of each. */
const PLANES = {
  audio: "data",
  video: "data",
  structure: "control",
  "sender report": "data",
  "receiver report": "control",
  remb: "control",
  "transport-wide": "control",
  request: "data",
  stun: "control",
};
const CAPTURE = new URL("capture.py", import.meta.url).pathname;
const TABLE = new URL("../../docs/papers/packets.csv", import.meta.url).pathname;

const seconds = Number(process.argv[2] ?? 60);
const meeting = new KernelMeeting(NAMES);
try {
  meeting.connect();
  await meeting.serve();
  await meeting.meet(VIDEO, NAMES, FPS);
  await sleep(SETTLE_S * 1000);
  const counts = await capture();
  const row = ([type, plane]) => [type, plane, ...(counts[type] ?? [0, 0]), seconds, NAMES.length].join(",");
  const lines = ["type,plane,packets,bytes,seconds,participants", ...Object.entries(PLANES).map(row)];
  console.log(lines.join("\n"));
  console.log(`of no type: ${counts.other?.[0] ?? 0} packets`);
  writeFileSync(TABLE, `${lines.join("\n")}\n`);
} finally {
  await meeting.close();
}

/** Counts in the server's namespace, in a process of its own, so that the browsers are served. */
function capture() {
  const command = ["netns", "exec", meeting.network.namespace("hub"), "python3", CAPTURE, "bridge", `${PORT}`];
  const child = spawn("ip", [...command, `${seconds}`], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (text) => {
    said += text;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(JSON.parse(said)) : reject(new Error(`capture ended with ${code}`))));
  });
}
