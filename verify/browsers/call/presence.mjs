import { it } from "node:test";

/** Tests of names, active speakers and departures. */
export function presenceTests(call) {
  it("tells everybody of a new name, metadata and attributes", async () => {
    const [ada, ...others] = call.people;
    await ada.run(async (client) => {
      const person = client.room.localParticipant;
      await person.setName("Ada Lovelace");
      await person.setMetadata("first of us");
      await person.setAttributes({ hand: "raised", seat: "3" });
      await person.setAttributes({ hand: "" });
    });
    const told = (client) => {
      const { name, metadata, attributes } = client.person("ada");
      return name === "Ada Lovelace" && metadata === "first of us" && attributes.seat === "3" && !attributes.hand;
    };
    for (const person of others) await person.until("be told about ada", told);
  });

  it("says who speaks, and who has stopped", { timeout: 40_000 }, async () => {
    const [ada, ...others] = call.people;
    const speaks = (client, expected) =>
      client.room.activeSpeakers.some(({ identity, audioLevel }) => identity === "ada" && audioLevel > 0) === expected;
    await ada.run((client) => client.hum());
    for (const person of others) await person.until("be told that ada speaks", speaks, true);
    await ada.run((client) => client.room.localParticipant.setMicrophoneEnabled(false));
    for (const person of others) await person.until("be told that ada has stopped", speaks, false);
  });

  it("removes somebody who leaves", async () => {
    const [ada, bob, cat] = call.people;
    await cat.run((client) => client.room.disconnect());
    for (const person of [ada, bob]) {
      await person.until("see cat gone", (client) => client.person("cat") === undefined, undefined, 5_000);
    }
  });

  it("removes somebody whose tab is killed", { timeout: 60_000 }, async () => {
    const [ada, bob] = call.people;
    const began = Date.now();
    await bob.kill();
    await ada.until("see bob gone", (client) => client.person("bob") === undefined, undefined, 45_000);
    console.log(`${call.mode.name}: a killed tab was gone after ${((Date.now() - began) / 1000).toFixed(1)} s`);
  });
}
