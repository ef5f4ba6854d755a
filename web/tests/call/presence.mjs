import { it } from "node:test";

/** Who people are, who speaks, and who is gone. */
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

  it("says who speaks", async () => {
    // The browser's fake microphone beeps.
    for (const person of call.people) {
      for (const { identity } of call.people.filter((other) => other !== person)) {
        const spoke = (client, who) =>
          client.events.some(([name, subject]) => name === "activeSpeakersChanged" && subject === who);
        await person.until(`be told that ${identity} speaks`, spoke, identity, 20_000);
      }
    }
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
