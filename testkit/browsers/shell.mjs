import { execFileSync } from "node:child_process";

const LIMIT_MS = 10_000;

/** Runs a command, written as one line, to its end, and returns its output. */
export function shell(line) {
  const [program, ...rest] = line.split(" ");
  try {
    return execFileSync(program, rest, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: LIMIT_MS });
  } catch (error) {
    throw new Error(`${line}: ${error.stderr || error.message}`);
  }
}

/** Whether the command succeeds. */
export function succeeds(line) {
  try {
    shell(line);
    return true;
  } catch {
    return false;
  }
}
