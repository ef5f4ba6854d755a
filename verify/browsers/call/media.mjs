import assert from "node:assert/strict";
import { it } from "node:test";
import { assertPictures, assertVoices, judge, pictures, show, voices } from "../support/measure.mjs";
import { sleep } from "../support/wait.mjs";

const SETTLE_S = 5;

/** Tests of everybody's video and audio. */
export function mediaTests(call) {
  const { seconds } = call.mode;
  it(`decodes every picture and hears every voice for ${seconds} s`, { timeout: 180_000 }, async () => {
    await sleep(SETTLE_S * 1000);
    await judge(call.people, seconds, (views) => {
      const [seen, heard] = [pictures(views), voices(views)];
      show(`${call.mode.name}: pictures`, seen);
      show(`${call.mode.name}: voices`, heard);
      assertPictures(seen, 6);
      assertVoices(heard, 6, seconds);
    });
  });

  it("protects media with an AEAD suite", async () => {
    for (const person of call.people) {
      const { transports } = await person.stats();
      show(`${call.mode.name}: ${person.identity}'s transports`, transports);
      assert.ok(transports.length > 0, "a transport is in use");
      for (const { srtpCipher, dtlsState } of transports) {
        assert.equal(dtlsState, "connected");
        assert.match(srtpCipher, /GCM/);
      }
    }
  });
}
