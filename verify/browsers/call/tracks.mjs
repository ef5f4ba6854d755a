import assert from "node:assert/strict";
import { it } from "node:test";
import { sleep, waitFor } from "../support/wait.mjs";

/**
 * The largest encoding begins up to 200 ms after the smallest, and three browsers encode on two
 * processors until its key frame comes.
 */
const KEY_FRAME_MS = 1_500;

/** Tests of people's actions on the tracks that they publish and watch. */
export function trackTests(call) {
  it("shows a shared screen to everybody until it stops", { timeout: 60_000 }, async () => {
    const [ada, ...others] = call.people;
    await ada.run((client) => client.room.localParticipant.setScreenShareEnabled(true));
    for (const person of others) {
      await person.sees([ada], ["screen_share"]);
      await person.watches(ada, "screen_share");
      await sawAtOnce(person, ada);
    }
    const late = await call.world.person("late");
    await late.join(call.room, { options: call.mode.room });
    await late.watches(ada, "screen_share");
    await sawAtOnce(late, ada);
    await late.close();
    await ada.run((client) => client.room.localParticipant.setScreenShareEnabled(false));
    const gone = (client) => client.publication("ada", "screen_share") === undefined;
    for (const person of others) await person.until("see the screen gone", gone);
    for (const person of others) await person.watches(ada);
  });

  for (const [source, setter] of [
    ["microphone", "setMicrophoneEnabled"],
    ["camera", "setCameraEnabled"],
  ]) {
    it(`shows a ${source} muted and back`, { timeout: 40_000 }, async () => {
      const [ada, bob, ...others] = call.people;
      const watchers = [ada, ...others];
      const set = (on) => bob.run((client, [name, it]) => client.room.localParticipant[name](it), [setter, on]);
      const isMuted = (client, [what, muted]) => client.publication("bob", what)?.isMuted === muted;
      for (const muted of [true, false]) {
        await set(!muted);
        const state = muted ? "muted" : "back";
        for (const person of watchers) await person.until(`see bob's ${source} ${state}`, isMuted, [source, muted]);
      }
      for (const person of watchers) await person.watches(bob);
    });
  }

  it("stops a track for one who unsubscribes alone, and brings it back", { timeout: 40_000 }, async () => {
    const [ada, bob, cat] = call.people;
    const subscribe = (on) => cat.run((client, it) => client.publication("bob", "camera").setSubscribed(it), on);
    await subscribe(false);
    await cat.until("have let bob's camera go", (client) => client.publication("bob", "camera")?.track === undefined);
    await ada.watches(bob);
    await subscribe(true);
    await cat.sees([bob], ["camera"]);
    await cat.watches(bob);
  });

  it("sends no picture to somebody who switched it off", { timeout: 40_000 }, async () => {
    const [ada, bob, cat] = call.people;
    const enable = (on) => cat.run((client, it) => client.publication("ada", "camera").setEnabled(it), on);
    const packets = async () =>
      (await cat.stats()).received.find(({ from, source }) => from === "ada" && source === "camera").packetsReceived;
    await enable(false);
    // The client waits before it tells the server, and packets on their way still arrive.
    await sleep(2000);
    const before = await packets();
    await bob.watches(ada);
    assert.equal(await packets(), before, "packets while switched off");
    await enable(true);
    await cat.watches(ada);
  });

  if (call.mode.simulcast) simulcastTests(call);
}

/** Fails if somebody saw a screen smaller than it is for longer than a key frame takes. */
async function sawAtOnce(person, sharer) {
  const full = await sharer.run(
    (client) =>
      client.room.localParticipant.getTrackPublication("screen_share").track.mediaStreamTrack.getSettings().width,
  );
  const ofScreen = (client, from) => client.widths.filter((it) => it.from === from && it.source === "screen_share");
  const seen = () => person.run(ofScreen, sharer.identity);
  const isFull = ({ width }) => width === full;
  await waitFor(`${person.identity} to see ${full} columns`, async () => (await seen()).some(isFull));
  const pictures = await seen();
  const [first] = pictures;
  const widths = pictures.map(({ width, at }) => `${width} after ${Math.round(at - first.at)} ms`).join(", ");
  assert.ok(pictures.find(isFull).at - first.at <= KEY_FRAME_MS, `${person.identity} saw ${full} as ${widths}`);
}

function simulcastTests(call) {
  it("gives each watcher the size they ask for", { timeout: 60_000 }, async () => {
    const [ada, bob, cat] = call.people;
    const ask = (person, quality) =>
      person.run((client, it) => client.publication("ada", "camera").setVideoQuality(client.VideoQuality[it]), quality);
    const height = async (person) =>
      (await person.stats()).received.find(({ from, source }) => from === "ada" && source === "camera").frameHeight;
    const becomes = async (person, expected) => {
      const client = `see ada at ${expected} lines`;
      const deadline = Date.now() + 20_000;
      while ((await height(person)) !== expected) {
        assert.ok(Date.now() < deadline, `${person.identity} did not ${client}, but at ${await height(person)}`);
        await sleep(250);
      }
    };
    await ask(cat, "LOW");
    await becomes(cat, 180);
    await becomes(bob, 360);
    await cat.watches(ada);
    await ask(cat, "HIGH");
    await becomes(cat, 360);
    await cat.watches(ada);
  });
}
