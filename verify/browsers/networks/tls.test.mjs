// A browser that asks for media over TLS.

import assert from "node:assert/strict";
import { it } from "node:test";
import { localCandidates } from "../support/connections.mjs";
import { BESIDE_HTTPS, describeMeeting } from "../support/isolated.mjs";
import { waitFor } from "../support/wait.mjs";

describeMeeting("with a TURN server beside HTTPS", BESIDE_HTTPS, (world) => {
  it("a browser that asks for TLS uses the TURN server", { timeout: 120_000 }, async () => {
    await world.sees();
    // A browser may keep a relay that it does not use.
    const first = await used();
    assert.ok(first.length > 0 && !first.some(({ type }) => type === "relay"), JSON.stringify(first));
    await world.people.ada.page.evaluate(() => window.participant.room.simulateScenario("force-tls"));
    let found;
    await waitFor(
      "ada to use a relay over TLS",
      async () => {
        found = await used();
        return found.length > 0 && found.every((it) => it.type === "relay" && it.relayProtocol === "tls");
      },
      { timeout: 40_000, interval: 500, onTimeout: () => JSON.stringify(found) },
    );
    assert.ok(world.figure("weir_turn_allocations") >= 1);
    await world.sees();
  });

  async function used() {
    const { page } = world.people.ada;
    await page.evaluate(() => {
      // There is none while it joins again.
      const { publisher, subscriber } = window.participant.room.engine.pcManager ?? {};
      window.connections = [publisher, subscriber].filter(Boolean).map(({ pc }) => pc);
    });
    return page.evaluate(localCandidates);
  }
});
