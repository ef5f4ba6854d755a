// Scallop, Table 1: the packets that three browsers send to the server from the first join on, by
// type. Media is AV1 L1T3 without encryption, so that reports can be read. It is measured behind a
// simulated P4 switch, where browsers report with REMB, and with rooms in the kernel, where they
// report transport-wide numbers. Writes docs/measured/papers/packets.csv.
//
// Usage: node eval/papers/packets.mjs [SECONDS]. Needs root, for network namespaces.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { KernelMeeting } from "../../verify/browsers/support/kernel.mjs";
import { SWITCHES, SwitchMeeting } from "../../verify/browsers/support/p4.mjs";

const NAMES = ["ada", "bob", "cyd"];
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
/** The meeting of each kind of feedback, and the server's interface there. */
const MEETINGS = [
  { feedback: "REMB", interface: "eth0", make: () => new SwitchMeeting(NAMES, SWITCHES[0]) },
  { feedback: "transport-wide", interface: "bridge", make: () => new KernelMeeting(NAMES) },
];
const CAPTURE = new URL("capture.py", import.meta.url).pathname;
const TABLE = new URL("../../docs/measured/papers/packets.csv", import.meta.url).pathname;

const seconds = Number(process.argv[2] ?? 60);
const lines = ["feedback,type,plane,packets,bytes,seconds,participants"];
for (const it of MEETINGS) {
  const { seconds: passed, counts } = await measure(it);
  for (const [type, plane] of Object.entries(PLANES)) {
    lines.push([it.feedback, type, plane, ...(counts[type] ?? [0, 0]), passed, NAMES.length].join(","));
  }
  console.log(`${it.feedback}: ${counts.other?.[0] ?? 0} packets of no type`);
}
console.log(lines.join("\n"));
writeFileSync(TABLE, `${lines.join("\n")}\n`);

async function measure({ make, interface: name }) {
  const meeting = make();
  try {
    await meeting.connect();
    await meeting.serve();
    const [captured] = await Promise.all([
      capture(meeting.network.namespace("hub"), name),
      meeting.meet(VIDEO, NAMES, FPS),
    ]);
    return captured;
  } finally {
    await meeting.close();
  }
}

/** Counts in the server's namespace, in a process of its own, so that the browsers are served. */
function capture(namespace, name) {
  const command = ["netns", "exec", namespace, "python3", CAPTURE, name, `${PORT}`, `${seconds}`];
  const child = spawn("ip", command, { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (text) => {
    said += text;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve(JSON.parse(said)) : reject(new Error(`the capture ended with ${code}`)),
    );
  });
}
