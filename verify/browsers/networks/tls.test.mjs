// A browser that asks for media over TLS.

import { it } from "node:test";
import { BESIDE_HTTPS, describeMeeting } from "../support/isolated.mjs";

describeMeeting("with a TURN server beside HTTPS", BESIDE_HTTPS, (world) => {
  it("a browser that asks for TLS uses the TURN server", { timeout: 120_000 }, async () => {
    await world.sees();
    // Media passes over UDP, and a browser lets go of a relay that it does not need.
    await world.comesTo("weir_turn_allocations", { most: 0 });
    await world.people.ada.page.evaluate(() => window.participant.room.simulateScenario("force-tls"));
    await world.comesTo("weir_turn_allocations", { least: 1 });
    await world.sees();
  });
});
