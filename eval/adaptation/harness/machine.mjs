// The load of this machine beside the harness, and priority for the harness.

import { readFileSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { shell } from "../../../testkit/browsers/shell.mjs";

/** Ticks of `/proc` in a second, on every Linux there is. */
const TICKS = 100;

const read = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process ended meanwhile.
    return "";
  }
};

/** The load, averaged over a minute. */
export const load = () => Number(read("/proc/loadavg").split(" ")[0]);

/**
 * Processor time so far in seconds: of the whole machine, and of the processes in the
 * namespaces.
 */
export function processorTime(namespaces) {
  const [user, nice, system, , , interrupt, softInterrupt] = read("/proc/stat")
    .split("\n")[0]
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const own = pids(namespaces).reduce((sum, pid) => sum + ticks(pid), 0);
  return { all: (user + nice + system + interrupt + softInterrupt) / TICKS, own: own / TICKS };
}

/**
 * User and system time of a process: the 14th and 15th field, counted after the name, which may
 * contain spaces.
 */
function ticks(pid) {
  const fields = read(`/proc/${pid}/stat`).split(") ").at(-1).split(" ");
  return (Number(fields[11]) || 0) + (Number(fields[12]) || 0);
}

/**
 * Gives the driver and the processes in the namespaces priority over the rest of the machine,
 * whose load would otherwise be measured.
 */
export function goFirst(namespaces) {
  for (const pid of [process.pid, ...pids(namespaces)]) prioritise(Number(pid), constants.priority.PRIORITY_HIGH);
}

/** Gives back the driver's precedence, which it shares with the terminal it was started from. */
export function stepBack() {
  prioritise(process.pid, constants.priority.PRIORITY_NORMAL);
}

function prioritise(pid, priority) {
  try {
    setPriority(pid, priority);
    // If the kernel groups processes by session, priority counts between groups.
    writeFileSync(`/proc/${pid}/autogroup`, `${priority}\n`);
  } catch {
    // It ended meanwhile, or the kernel has no such groups.
  }
}

function pids(namespaces) {
  return namespaces.flatMap((namespace) => shell(`ip netns pids ${namespace}`).split("\n").filter(Boolean));
}
