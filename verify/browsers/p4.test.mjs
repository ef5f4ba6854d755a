// Three Chromium without encryption meet through a P4 switch: it sends each copy, and everybody
// sees and hears both of the others.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
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
  describe(`a meeting through ${kind.name}`, { skip, timeout: 150_000 }, () => {
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
      const before = await meeting.figures();
      await sleep(WATCH_S * 1000);
      const now = await meeting.figures();
      console.log(`${kind.name}: forwarded ${now.counters.forwarded - before.counters.forwarded} in ${WATCH_S} s`);
      for (const watcher of NAMES) {
        for (const publisher of NAMES.filter((name) => name !== watcher)) {
          const [seen, was] = [now.seen[watcher][publisher], before.seen[watcher][publisher]];
          const frames = seen.framesDecoded - was.framesDecoded;
          const [heard, had] = [now.heard[watcher][publisher], before.heard[watcher][publisher]];
          const packets = heard.packetsReceived - had.packetsReceived;
          const sent = now.sent[publisher] - before.sent[publisher];
          console.log(`  ${watcher} from ${publisher}: ${frames} of ${sent} frames, ${packets} packets of audio`);
          const isSeen = sent >= LEAST_FRAMES * WATCH_S && frames >= 0.9 * sent;
          assert.ok(isSeen, `${watcher} watching ${publisher}: ${frames} of ${sent} frames`);
          assert.ok(packets >= 0.9 * 50 * WATCH_S, `${watcher} hearing ${publisher}: ${packets} packets`);
          // Three encoders of AV1 on a few processors may hold one frame back.
          assert.ok(seen.freezeCount - was.freezeCount <= 1, `${watcher} watching ${publisher} froze twice`);
        }
      }
      assert.equal(meeting.replicasOnSwitch(), REPLICAS, "they stay there");
    });
  });
}
