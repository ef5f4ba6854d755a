import assert from "node:assert/strict";
import { it } from "node:test";

const BURST = 20;

/** Tests of messages between people, and of data that programs send for them. */
export function messageTests(call) {
  it("delivers reliable data to everybody, whole and in order", async () => {
    const [ada, ...others] = call.people;
    await send(ada, { topic: "reliable", reliable: true });
    for (const person of others) {
      await person.until("receive every reliable packet", received, ["reliable", BURST]);
      const packets = await dataOn(person, "reliable");
      assert.deepEqual(
        packets.map(({ text }) => text),
        Array.from({ length: BURST }, (_, index) => `${index}`),
      );
      assert.ok(packets.every(({ from }) => from === "ada"));
    }
  });

  it("delivers lossy data to everybody", async () => {
    const [, bob] = call.people;
    await send(bob, { topic: "lossy", reliable: false });
    for (const person of call.people.filter((it) => it !== bob)) {
      await person.until("receive the lossy packets", received, ["lossy", BURST]);
      const kinds = new Set((await dataOn(person, "lossy")).map(({ kind }) => kind));
      assert.deepEqual([...kinds], [1], "they come as lossy");
    }
  });

  for (const reliable of [true, false]) {
    it(`delivers ${reliable ? "reliable" : "lossy"} data to its destination only`, async () => {
      const [ada, bob, cat] = call.people;
      const topic = `for cat, ${reliable}`;
      await send(ada, { topic, reliable, destinationIdentities: ["cat"] });
      await cat.until("receive the messages for her", received, [topic, BURST]);
      // A message to all that is sent afterwards arrives after anything that leaked.
      await send(ada, { topic: `${topic}, then all`, reliable });
      await bob.until("receive the messages for all", received, [`${topic}, then all`, BURST]);
      assert.deepEqual(await dataOn(bob, topic), []);
    });
  }

  it("carries chat, long messages too", async () => {
    const [ada, ...others] = call.people;
    const long = "weir ".repeat(12_000);
    for (const text of ["hello", long]) {
      await ada.run((client, it) => client.room.localParticipant.sendText(it, { topic: "lk.chat" }), text);
      for (const person of others) {
        const has = (client, it) => client.texts.some(({ text, from }) => text === it && from === "ada");
        await person.until(`read a chat message of ${text.length} characters`, has, text);
      }
    }
  });

  it("carries remote calls and their answers", async () => {
    const [ada, bob] = call.people;
    await bob.run((client) => {
      client.room.registerRpcMethod("double", async ({ payload }) => `${2 * Number(payload)}`);
    });
    const ask = (client) =>
      client.room.localParticipant.performRpc({ destinationIdentity: "bob", method: "double", payload: "21" });
    assert.equal(await ada.run(ask), "42");
  });
}

function send(person, { topic, ...options }) {
  return person.run(
    async (client, { count, ...how }) => {
      for (let index = 0; index < count; index++) {
        await client.room.localParticipant.publishData(new TextEncoder().encode(`${index}`), how);
      }
    },
    { count: BURST, topic, ...options },
  );
}

const received = (client, [topic, count]) => client.data.filter((packet) => packet.topic === topic).length >= count;

const dataOn = (person, topic) =>
  person.run((client, it) => client.data.filter((packet) => packet.topic === it), topic);
