// Large rooms hear the loudest voices only. Here a room is large from three, and hears one.

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sleep } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const LOUD = 0.5;
/** 20 dB less. */
const QUIET = 0.05;
/** Levels are reported every half second, and a place is kept through a pause of three. */
const CHANGES_WITHIN_MS = 15_000;

let world;
before(async () => {
  world = await createWorld({ configuration: "audio: {loudest: 1, from: 2}\n" });
});
after(() => world?.end());

/** The participants whose audio arrives within a second. */
async function heard(person) {
  const packets = async () => {
    const { received } = await person.stats();
    return new Map(received.filter(({ kind }) => kind === "audio").map((row) => [row.from, row.packetsReceived]));
  };
  const before = await packets();
  await sleep(1000);
  const now = await packets();
  return [...now].filter(([from, count]) => count > (before.get(from) ?? 0)).map(([from]) => from);
}

async function hears(person, expected) {
  const deadline = Date.now() + CHANGES_WITHIN_MS;
  let seen = await heard(person);
  while (seen.join() !== expected.join() && Date.now() < deadline) seen = await heard(person);
  assert.deepEqual(seen, expected, `heard by ${person.identity}`);
}

it("hears the loudest of many, and the next when that one falls silent", { timeout: 90_000 }, async () => {
  const room = freshRoom("voices");
  const [ada, bob, cat, dan] = await Promise.all(
    ["ada", "bob", "cat", "dan"].map((identity) => world.person(identity)),
  );
  for (const person of [ada, bob, cat, dan]) await person.join(room);
  for (const person of [ada, bob, cat]) await person.publish({ camera: false });
  await dan.sees([ada, bob, cat], ["microphone"]);
  const hum = (person, loudness) => person.run((client, it) => client.hum(it), loudness);
  await hum(bob, QUIET / 4);
  await hum(cat, QUIET);
  await hum(ada, LOUD);
  await hears(dan, ["ada"]);
  await ada.run((client) => client.room.localParticipant.setMicrophoneEnabled(false));
  await hears(dan, ["cat"]);
});
