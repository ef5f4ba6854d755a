// Two Chromium, one of them behind a cable that becomes narrow: what `weir explain` says of both.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { layCable } from "../../../testkit/browsers/cable.mjs";
import { SERVER_ADDRESS } from "../../../testkit/browsers/network.mjs";
import { IsolatedMeeting } from "../support/isolated.mjs";
import { BINARY, kernelIsMissing } from "../support/kernel.mjs";
import { sleep } from "../support/wait.mjs";

/** Less than the smallest camera and the sound take. */
const NARROW = 150_000;
const ROUND_TRIP_MS = 20;
const WATCH_S = 15;
/** The estimate begins low, so the first pictures are small. */
const SETTLE_S = 15;

describe("a verdict about a call", { skip: kernelIsMissing(), timeout: 180_000 }, () => {
  const meeting = new IsolatedMeeting();
  let cable;

  before(async () => {
    const restrict = async (network) => {
      cable = await layCable(network, { seed: 1, queueMs: 300, shaper: "relay" });
      cable.set("both", { delay: `${ROUND_TRIP_MS / 2}ms` });
    };
    await meeting.meet({ limited: "bob", restrict });
    await meeting.sees();
    await sleep(SETTLE_S * 1000);
  });
  after(async () => {
    await cable?.remove();
    await meeting.close();
  });

  /** The verdict about a person's last seconds: sentences, or JSON. */
  function explain(name, ...more) {
    const server = ["--url", `http://${SERVER_ADDRESS}:7880`, "--api-key", "devkey", "--api-secret", "secret"];
    const command = [BINARY, "explain", "isolated", name, "--since", `${WATCH_S}s`, ...server, ...more];
    return execFileSync("ip", ["netns", "exec", meeting.network.namespace("hub"), ...command]).toString();
  }
  const faults = (name) => JSON.parse(explain(name, "--json")).findings.filter(({ severity }) => severity === "fault");

  it("names no fault while all is well", async () => {
    await sleep(WATCH_S * 1000);
    for (const name of ["ada", "bob"]) {
      assert.deepEqual(faults(name), [], name);
      assert.match(explain(name), /nothing wrong was found/);
    }
  });

  it("names the downlink that became narrow, with its time and estimate, and nothing of the other one", async () => {
    cable.set("down", { rate: NARROW });
    await sleep(WATCH_S * 1000);
    const text = explain("bob");
    console.log(text, explain("ada"));
    const causes = new Set(faults("bob").map(({ cause }) => cause));
    assert.deepEqual([...causes], ["downlink"], text);
    assert.match(text, /\d\d:\d\d:\d\d to \d\d:\d\d:\d\d .*ada.*the downlink was estimated at \d+ kbit\/s/);
    assert.deepEqual(faults("ada"), []);
  });
});
