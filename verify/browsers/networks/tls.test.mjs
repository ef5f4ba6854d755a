// A browser that asks for media over TLS.

import assert from "node:assert/strict";
import { it } from "node:test";
import { BESIDE_HTTPS, describeMeeting } from "../support/isolated.mjs";

describeMeeting("with a TURN server beside HTTPS", BESIDE_HTTPS, (world) => {
  it("a browser that asks for TLS uses the TURN server", { timeout: 120_000 }, async () => {
    await world.sees();
    assert.equal(world.figure("weir_turn_allocations"), 0, "media passes over UDP");
    await world.people.ada.page.evaluate(() => window.participant.room.simulateScenario("force-tls"));
    await world.reaches("weir_turn_allocations", 1);
    await world.sees();
  });
});
