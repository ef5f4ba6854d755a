// Three Chromium without encryption meet through a P4 switch, which is killed and started again.
// Nobody has to join again: the call continues in software, and returns to the switch.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { inSomeWindow } from "./support/measure.mjs";
import { SWITCHES, SwitchMeeting, switchIsMissing } from "./support/p4.mjs";
import { sleep, waitFor } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
const REPLICAS = NAMES.length * (NAMES.length - 1) * 2;
/** Per second, of 15: encoders share this machine. */
const LEAST_FRAMES = 8;
const MOVED_MS = 30_000;
/**
 * The controller tries again after 0.2, 0.6, 1.4, 3 and 6.2 s, and Chromium waits 5 s for an answer
 * to its connectivity checks: the first attempts are to find the new switch, on a busy machine too.
 */
const GONE_S = 0.3;
/** Until the controller has connected again, and people see each other by software. */
const BACK_MS = 10_000;
const WATCH_S = 5;

for (const kind of SWITCHES) {
  const skip = switchIsMissing(kind);
  describe(`${kind.name}, killed during a meeting`, { skip, timeout: 200_000 }, () => {
    const meeting = new SwitchMeeting(NAMES, kind);

    before(async () => {
      await meeting.connect({ adapted: false });
      await meeting.serve();
      await meeting.meet({ videoCodec: "av1", scalabilityMode: "L1T3" });
      await onSwitch("the switch to send all");
    });
    after(() => meeting.close());

    it("continues in software and returns to the switch", async () => {
      const killed = Date.now();
      const since = () => `${((Date.now() - killed) / 1000).toFixed(1)} s`;
      await meeting.stopSwitch();
      await sleep(GONE_S * 1000);
      await meeting.startSwitch();
      console.log(`${kind.name}: killed at 0 s, another one there at ${since()}`);
      const before = await framesSeen();
      await waitFor("everybody to see the others again", async () => haveGrown(before, await framesSeen()), {
        timeout: BACK_MS,
        interval: 200,
        onTimeout: () => `${meeting.places().join("\n")}\n${meeting.switch.log()}`,
      });
      console.log(`  everybody sees the others again at ${since()}`);
      await onSwitch("the replicas to return");
      console.log(`  the switch sends all again at ${since()}`);
      await inSomeWindow(async () => {
        for (const { who, frames, seconds } of await meeting.watch(WATCH_S)) {
          assert.ok(frames >= LEAST_FRAMES * seconds, `${who}: ${frames} frames in ${seconds} s`);
        }
      });
      for (const [name, events] of Object.entries(meeting.events)) {
        const since = events.filter(([time]) => time >= killed);
        assert.deepEqual(since, [], `${name} has joined again`);
      }
    });

    function onSwitch(what) {
      return waitFor(what, () => meeting.replicasOnSwitch() === REPLICAS, {
        timeout: MOVED_MS,
        interval: 500,
        onTimeout: () => meeting.places().join("\n"),
      });
    }

    /** The frames that each has decoded of each other. */
    async function framesSeen() {
      const newest = await meeting.newest();
      const of = (watcher) =>
        NAMES.filter((name) => name !== watcher).map((publisher) => [
          `${watcher} watching ${publisher}`,
          newest[watcher].video[publisher].framesDecoded,
        ]);
      return Object.fromEntries(NAMES.flatMap(of));
    }
  });
}

function haveGrown(before, now) {
  return Object.entries(now).every(([pair, frames]) => frames > before[pair] + LEAST_FRAMES);
}
