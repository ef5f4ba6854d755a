// Three Chromium without encryption, one of which publishes in layers: a receiver that asks for a
// smaller size gets it, the other is not affected, and userspace sees no packet of either.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { KernelMeeting, kernelIsMissing } from "./support/kernel.mjs";
import { inSomeWindow } from "./support/measure.mjs";
import { sleep } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
const SETTLE_S = 6;
const WATCH_S = 6;
const SIZES = 2; // that livekit-client has of a picture this small, each of which counts as a frame sent
const [LOW, HIGH] = [0, 2]; // livekit-client's VideoQuality

for (const codec of ["vp9", "av1"]) {
  describe(`${codec} in layers through the kernel`, { skip: kernelIsMissing(), timeout: 240_000 }, () => {
    const meeting = new KernelMeeting(NAMES);
    const video = { videoCodec: codec, simulcast: true };

    before(async () => {
      // Sizes then depend on what receivers ask for alone.
      meeting.connect({ adapted: false });
      await meeting.serve();
      await meeting.meet(video, ["ada"]);
      await sleep(SETTLE_S * 1000);
    });
    after(() => meeting.close());

    it("gives each receiver the size he asks for", async () => {
      await watched("both want all", { bob: 360, cat: 360 });
      await wants("bob", LOW);
      const seen = await watched("bob wants less", { bob: 180, cat: 360 });
      assert.ok(seen.outside_target > 0, "nothing was left out");
      await wants("bob", HIGH);
      await watched("bob wants all again", { bob: 360, cat: 360 });
    });

    function wants(name, quality) {
      const person = meeting.people[NAMES.indexOf(name)];
      return person.page.evaluate((it) => {
        const [publisher] = window.participant.room.remoteParticipants.values();
        publisher.getTrackPublication("camera").setVideoQuality(it);
      }, quality);
    }

    /**
     * Waits for video with this many lines, and then watches for a while; returns the counts of
     * that time.
     */
    async function watched(what, lines) {
      const deadline = Date.now() + 15_000;
      while (Date.now() < deadline && !isSeen(await figures(), lines)) await sleep(500);
      const before = meeting.counters();
      await inSomeWindow(() => looked(what, lines));
      const now = meeting.counters();
      const counted = Object.fromEntries(
        Object.entries(now).map(([reason, count]) => [reason, count - before[reason]]),
      );
      const inUserspace = counted.no_replica + counted.copied_by_offload + counted.unknown_stream;
      console.log(
        `${codec}, ${what}: forwarded ${counted.forwarded}, left out ${counted.outside_target},` +
          ` seen by userspace ${inUserspace}`,
      );
      assert.equal(inUserspace, 0, "media in userspace");
      assert.ok(counted.forwarded > 0);
      return counted;
    }

    async function looked(what, lines) {
      const before = await figures();
      await sleep(WATCH_S * 1000);
      const now = await figures();
      for (const [name, height] of Object.entries(lines)) {
        const decoded = now.seen[name].framesDecoded - before.seen[name].framesDecoded;
        const sent = (now.sent - before.sent) / SIZES;
        console.log(`  ${name}: ${now.seen[name].frameHeight} lines, ${decoded} of ${sent} pictures`);
        assert.equal(now.seen[name].frameHeight, height, `${name}, when ${what}`);
        assert.ok(sent > 0 && decoded >= 0.8 * sent, `${name}, when ${what}: ${decoded} of ${sent} pictures`);
      }
    }

    async function figures() {
      const { ada, bob, cat } = await meeting.newest();
      return {
        sent: Math.max(...Object.values(ada.sent).map(({ framesSent }) => framesSent)),
        seen: { bob: bob.video.ada, cat: cat.video.ada },
      };
    }
  });
}

function isSeen({ seen }, lines) {
  return Object.entries(lines).every(([name, height]) => seen[name]?.frameHeight === height);
}
