// The encodings that a page sends.

import assert from "node:assert/strict";
import { sleep } from "./wait.mjs";

/** Less is asked for after five seconds; the rest is time to notice. */
const FALLS_WITHIN_MS = 15_000;

/** The names of the encodings whose frames were sent within a second. */
async function sending(person) {
  const frames = async () =>
    new Map((await person.stats()).sent.filter(({ kind }) => kind === "video").map((row) => [row.rid, row.framesSent]));
  const before = await frames();
  await sleep(1000);
  const now = await frames();
  return [...now].filter(([rid, count]) => count > (before.get(rid) ?? 0)).map(([rid]) => rid);
}

/** Waits until a person sends these encodings and no others. */
export async function sends(person, expected) {
  const deadline = Date.now() + FALLS_WITHIN_MS;
  let seen = await sending(person);
  while (seen.sort().join() !== expected.join() && Date.now() < deadline) seen = await sending(person);
  assert.deepEqual(seen.sort(), expected, "encodings being sent");
}
