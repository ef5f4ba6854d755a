import { setTimeout as sleep } from "node:timers/promises";

export { sleep };

/**
 * Calls `probe` until it returns a truthy value, and returns that.
 *
 * `what` completes the sentence "waited N s for ...". `onTimeout` may add the state found instead.
 */
export async function waitFor(what, probe, { timeout = 15_000, interval = 100, onTimeout } = {}) {
  const deadline = Date.now() + timeout;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > deadline) {
      const instead = onTimeout ? `\n${await onTimeout()}` : "";
      throw new Error(`waited ${timeout / 1000} s for ${what}${instead}`);
    }
    await sleep(interval);
  }
}
