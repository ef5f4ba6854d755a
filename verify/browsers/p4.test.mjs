// Three Chromium without encryption meet through a P4 switch: it sends each copy, and everybody
// sees and hears both of the others.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { inSomeWindow, show } from "./support/measure.mjs";
import { SWITCHES, SwitchMeeting, switchIsMissing } from "./support/p4.mjs";
import { sleep, waitFor } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
/** A video and an audio from each of the others. */
const REPLICAS = NAMES.length * (NAMES.length - 1) * 2;
/** Per second, of 15: encoders share this machine. */
const LEAST_FRAMES = 8;
const SETTLE_S = 4;
const WATCH_S = 8;
const MOVED_MS = 30_000;

for (const kind of SWITCHES) {
  const skip = switchIsMissing(kind);
  describe(`a meeting through ${kind.name}`, { skip, timeout: 200_000 }, () => {
    const meeting = new SwitchMeeting(NAMES, kind);

    before(async () => {
      // Without adaptation the result does not depend on the estimates of downlinks.
      await meeting.connect({ adapted: false });
      await meeting.serve();
      await meeting.meet({ videoCodec: "av1", scalabilityMode: "L1T3" });
    });
    after(() => meeting.close());

    it("has every copy sent by the switch", async () => {
      await waitFor("the switch to send all", () => meeting.replicasOnSwitch() === REPLICAS, {
        timeout: MOVED_MS,
        interval: 500,
        onTimeout: () => meeting.places().join("\n"),
      });
      await sleep(SETTLE_S * 1000);
      const before = meeting.counters();
      await inSomeWindow(async () => {
        const pairs = await meeting.watch(WATCH_S);
        show(`${kind.name}: in ${WATCH_S} s`, pairs);
        for (const { who, seconds, sent, frames, freezes, heard } of pairs) {
          const isSeen = sent >= LEAST_FRAMES * seconds && frames >= 0.9 * sent;
          assert.ok(isSeen, `${who}: ${frames} of ${sent} frames in ${seconds} s`);
          assert.ok(heard >= 0.9 * 50 * seconds, `${who}: ${heard} packets of audio in ${seconds} s`);
          // Three encoders of AV1 on a few processors may hold one frame back.
          assert.ok(freezes <= 1, `${who} froze twice`);
        }
      });
      console.log(`${kind.name}: forwarded ${meeting.counters().forwarded - before.forwarded}`);
      assert.equal(meeting.replicasOnSwitch(), REPLICAS, "they stay there");
    });
  });
}
