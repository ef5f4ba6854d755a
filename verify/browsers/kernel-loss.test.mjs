// Three Chromium without encryption meet through the kernel, and one of them loses packets: the
// publishers repeat them for it alone, although no packet is kept in between.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { layCable } from "../../eval/adaptation/harness/cable.mjs";
import { KernelMeeting, kernelIsMissing } from "./support/kernel.mjs";
import { sleep } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
/** The participant behind a cable that loses packets towards it. */
const UNLUCKY = "cat";
const LOSS = "5%";
const ROUND_TRIP_MS = 20;
const SETTLE_S = 6;
const WATCH_S = 15;

describe("losses behind the kernel", { skip: kernelIsMissing(), timeout: 180_000 }, () => {
  const meeting = new KernelMeeting(NAMES);
  let cable;

  before(async () => {
    // Without adaptation every missing packet is a lost one.
    meeting.connect({ limited: UNLUCKY, adapted: false });
    cable = await layCable(meeting.network, { seed: 1, queueMs: 500, shaper: "relay" });
    cable.set("both", { delay: `${ROUND_TRIP_MS / 2}ms` });
    await meeting.serve();
    await meeting.meet();
    await sleep(SETTLE_S * 1000);
    cable.set("down", { loss: LOSS });
    await sleep(SETTLE_S * 1000);
  });
  after(async () => {
    await cable?.remove();
    await meeting.close();
  });

  it("are repaired by publishers, for the receiver that has them", async () => {
    const before = await meeting.figures();
    await sleep(WATCH_S * 1000);
    const now = await meeting.figures();
    const passed = (reason) => now.counters[reason] - before.counters[reason];
    console.log(`in ${WATCH_S} s: forwarded ${passed("forwarded")}, sent again ${passed("resent")}`);
    for (const publisher of NAMES) {
      const sent = now.sent[publisher] - before.sent[publisher];
      for (const watcher of NAMES.filter((name) => name !== publisher)) {
        const { seen, was } = { seen: now.seen[watcher][publisher], was: before.seen[watcher][publisher] };
        const decoded = seen.framesDecoded - was.framesDecoded;
        const [nacks, plis] = [seen.nackCount - was.nackCount, seen.pliCount - was.pliCount];
        console.log(`  ${watcher} watching ${publisher}: ${decoded} of ${sent} frames, ${nacks} NACKs, ${plis} PLIs`);
        assert.ok(decoded >= 0.95 * sent, `${watcher} watching ${publisher}: ${decoded} of ${sent}`);
        assert.equal(nacks > 0, watcher === UNLUCKY, `${watcher} watching ${publisher}: ${nacks} NACKs`);
        assert.ok(plis <= 1, `${watcher} watching ${publisher}: ${plis} PLIs`);
      }
    }
    assert.ok(passed("resent") > 0, "nothing was sent again");
    assert.ok(passed("resent") < 0.1 * passed("forwarded"), "retransmissions go to one of the two");
    const inUserspace = ["no_replica", "copied_by_offload", "not_selected", "unknown_stream"];
    assert.deepEqual(inUserspace.map(passed), [0, 0, 0, 0], "media in userspace");
  });
});
