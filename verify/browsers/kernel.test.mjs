// Three Chromium without encryption, in network namespaces of their own, meet through the kernel:
// their media is copied there, and none of it reaches the switch.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { KernelMeeting, kernelIsMissing } from "./support/kernel.mjs";
import { sleep } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
const SETTLE_S = 6;
const WATCH_S = 10;

describe("through the kernel", { skip: kernelIsMissing(), timeout: 150_000 }, () => {
  const meeting = new KernelMeeting(NAMES);

  before(async () => {
    meeting.connect();
    await meeting.serve();
    await meeting.meet();
    await sleep(SETTLE_S * 1000);
  });
  after(() => meeting.close());

  it("three people see and hear each other, and userspace sees none of it", async () => {
    const before = await meeting.figures();
    await sleep(WATCH_S * 1000);
    const now = await meeting.figures();
    const { counters } = now;
    const passed = (reason) => counters[reason] - before.counters[reason];
    console.log(
      `in ${WATCH_S} s: forwarded ${passed("forwarded")}, of ${passed("received")} received` +
        ` (${passed("punted_rtcp")} RTCP, ${passed("punted_stun")} STUN); seen by userspace: ${passed("copied_by_offload")}`,
    );
    const pairs = NAMES.flatMap((watcher) =>
      NAMES.filter((name) => name !== watcher).map((publisher) => {
        const sent = now.sent[publisher] - before.sent[publisher];
        const [first, last] = [before, now].map(({ seen }) => seen[watcher][publisher]);
        const heard = now.heard[watcher][publisher].packetsReceived - before.heard[watcher][publisher].packetsReceived;
        return { watcher, publisher, sent, decoded: last.framesDecoded - first.framesDecoded, heard, last };
      }),
    );
    for (const { watcher, publisher, sent, decoded, last } of pairs) {
      const { freezeCount, frameHeight } = last;
      console.log(
        `  ${watcher} watching ${publisher}: ${decoded} of ${sent} frames, ${frameHeight} lines, ${freezeCount} freezes`,
      );
    }
    for (const { watcher, publisher, sent, decoded, heard, last } of pairs) {
      const { freezeCount, packetsLost, frameHeight } = last;
      assert.ok(sent > 0 && decoded >= 0.9 * sent, `${watcher} watching ${publisher}: ${decoded} of ${sent}`);
      assert.deepEqual([freezeCount, frameHeight], [0, 360]);
      // Packets that probes send several times are subtracted from the losses.
      assert.ok(packetsLost <= 0, `${watcher} watching ${publisher}: ${packetsLost} lost`);
      assert.ok(heard >= 45 * WATCH_S, `${watcher} hearing ${publisher}: ${heard} packets`);
    }
    assert.ok(passed("forwarded") > 0);
    const inUserspace = ["no_replica", "copied_by_offload", "not_selected", "unknown_stream"];
    assert.deepEqual(inUserspace.map(passed), [0, 0, 0, 0], "media in userspace");
    // Two copies of everything that is no question and no report.
    const media = passed("received") - passed("punted_rtcp") - passed("punted_stun");
    assert.ok(Math.abs(passed("forwarded") - 2 * media) <= 0.01 * media, "each packet to the two others");
  });
});
