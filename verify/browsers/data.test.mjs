// Two people and a lot of data: all of it arrives, in order, for any bursts; and data tracks.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { sleep } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

// More bytes than the queues on the way hold, in packets few enough for a busy machine.
const PACKETS = 8_000;
const PACKET_BYTES = 500;
const FILE_BYTES = 4_000_000;
const LIMIT_MS = 60_000;
// A packet of a data track has at most 16 kB.
const FRAME_SIZES = [100, 50_000];

const MODES = [
  { name: "one peer connection", room: {} },
  { name: "two peer connections", room: { singlePeerConnection: false } },
];

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());
afterEach(() => world.clear());

for (const mode of MODES) {
  describe(`reliable data over ${mode.name}`, () => {
    it("arrives whole and in order: a burst of packets, and a file", { timeout: 5 * LIMIT_MS }, async () => {
      const room = freshRoom("data");
      const [ada, bob] = [await world.person("ada"), await world.person("bob")];
      await bob.join(room, { options: mode.room });
      await ada.join(room, { options: mode.room });
      await bob.until("see ada", (client) => client.person("ada") !== undefined);
      await bob.run(listen);
      const began = Date.now();
      await within("ada's burst is sent", [ada, bob], ada.run(burst, { count: PACKETS, size: PACKET_BYTES }));
      await bob.until("have every packet", (client, count) => client.numbers.length >= count, PACKETS, LIMIT_MS);
      const seconds = (Date.now() - began) / 1000;
      console.log(`${mode.name}: ${PACKETS} packets in ${seconds.toFixed(1)} s`);
      const disorder = await bob.run((client) => client.numbers.findIndex((number, index) => number !== index));
      assert.equal(disorder, -1);
      await within("ada's file is sent", [ada, bob], ada.run(sendFile, FILE_BYTES));
      await bob.until("have the file", (client) => client.file !== undefined, undefined, LIMIT_MS);
      assert.deepEqual(await bob.run((client) => client.file), { bytes: FILE_BYTES, wrong: 0 });
    });
  });

  describe(`data tracks over ${mode.name}`, () => {
    it("reach a subscriber with frames of one packet and of several", async () => {
      const room = freshRoom("data-track");
      const [ada, bob] = [await world.person("ada"), await world.person("bob")];
      await bob.join(room, { options: mode.room });
      await bob.run(subscribe);
      await ada.join(room, { options: mode.room });
      await ada.run(async (client, sizes) => {
        client.track = await client.room.localParticipant.publishDataTrack({ name: "place" });
        client.pushes = setInterval(() => {
          for (const size of sizes) client.track.tryPush({ payload: new Uint8Array(size).fill(7) });
        }, 100);
      }, FRAME_SIZES);
      const hasAll = (client, sizes) => sizes.every((size) => client.sizes?.has(size));
      await bob.until("have frames of both sizes", hasAll, FRAME_SIZES);
      assert.equal(await bob.run((client) => client.wrong), 0);
      await ada.run(async (client) => {
        clearInterval(client.pushes);
        await client.track.unpublish();
      });
      await bob.until("know that the track is gone", (client) => client.gone);
    });
  });
}

/** Subscribes to the first data track and records the sizes of its frames. */
function subscribe(client) {
  client.wrong = 0;
  client.room.on("dataTrackPublished", async (track) => {
    client.sizes = new Set();
    for await (const { payload } of track.subscribe()) {
      client.sizes.add(payload.length);
      client.wrong += payload.some((byte) => byte !== 7);
    }
  });
  client.room.on("dataTrackUnpublished", () => {
    client.gone = true;
  });
}

/** Fails when `done` takes too long, with the state of the channels at all ends. */
async function within(what, people, done) {
  const late = Symbol("late");
  const stop = new AbortController();
  const limit = sleep(LIMIT_MS, late, { signal: stop.signal }).catch(() => {});
  const first = await Promise.race([done, limit]);
  stop.abort();
  if (first !== late) return;
  done.catch(() => {});
  const answer = (asked) => Promise.race([asked, sleep(5_000, "no answer")]);
  const states = await Promise.all(people.map((person) => answer(person.run(channels))));
  const metrics = await answer(fetch(`${world.server.url}/metrics`).then((it) => it.text()));
  const counted = metrics
    .split("\n")
    .filter((line) => /^weir_agent_total|^weir_data/.test(line) && !line.endsWith(" 0"));
  throw new Error(
    `waited ${LIMIT_MS / 1000} s until ${what}: ${JSON.stringify(states, null, 1)}\n${counted.join("\n")}`,
  );
}

function channels(client) {
  const state = ({ readyState, bufferedAmount, bufferedAmountLowThreshold }) => ({
    readyState,
    bufferedAmount,
    bufferedAmountLowThreshold,
  });
  const RELIABLE = 0;
  const of = (subscriber) => client.room.engine.dataChannelForKind(RELIABLE, subscriber);
  const [sends, receives] = [of(false), of(true)].map((channel) => channel && state(channel));
  return { sends, receives, received: client.numbers?.length, ...client.snapshot() };
}

/** Records the number in each packet, and the contents of a file. */
function listen(client) {
  client.numbers = [];
  client.room.on("dataReceived", (payload) => {
    client.numbers.push(new DataView(payload.buffer, payload.byteOffset).getUint32(0));
  });
  client.room.registerByteStreamHandler("files", async (reader) => {
    let [bytes, wrong, state] = [0, 0, 1];
    for (const chunk of await reader.readAll()) {
      for (const byte of chunk) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        wrong += byte !== state >>> 24;
        bytes += 1;
      }
    }
    client.file = { bytes, wrong };
  });
}

async function burst(client, { count, size }) {
  const sent = [];
  for (let number = 0; number < count; number++) {
    const payload = new Uint8Array(size);
    new DataView(payload.buffer).setUint32(0, number);
    sent.push(client.room.localParticipant.publishData(payload, { reliable: true }));
  }
  await Promise.all(sent);
}

/** Sends noise, which clients cannot compress. */
async function sendFile(client, size) {
  let state = 1;
  const content = Uint8Array.from({ length: size }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
  await client.room.localParticipant.sendFile(new File([content], "file"), { topic: "files" });
}
