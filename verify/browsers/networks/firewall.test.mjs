// Browsers in networks of their own, which let only a part of the traffic pass, meet all the same.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { run, SERVER_ADDRESS } from "../../../eval/adaptation/harness/network.mjs";
import { IsolatedMeeting } from "../support/isolated.mjs";
import { kernelIsMissing } from "../support/kernel.mjs";

// From the range for private networks (RFC 4193).
const NETWORK = "fd12:3456:789a";

/** A suite with a meeting of its own. */
function meeting(title, how, tests, skip = kernelIsMissing()) {
  describe(title, { skip, timeout: 180_000 }, () => {
    const world = new IsolatedMeeting();
    before(() => world.meet(how));
    after(() => world.close());
    tests(world);
  });
}

meeting(
  "behind a firewall without UDP",
  { restrict: (network, names) => inEach(network, names, "ip rule add ipproto udp blackhole") },
  (world) => {
    it("two browsers see each other over TCP", { timeout: 90_000 }, async () => {
      await world.sees();
      assert.ok(world.figure("weir_tcp_connections") >= 2, "media passes over TCP");
    });

    it("a browser whose address changes is seen again", { timeout: 120_000 }, async () => {
      const began = Date.now();
      world.within("ada", "ip address del 198.18.0.11/24 dev eth0", "ip address add 198.18.0.99/24 dev eth0");
      await world.sees(50_000);
      console.log(`media both ways ${((Date.now() - began) / 1000).toFixed(1)} s after a change of address`);
    });
  },
);

meeting(
  "behind a firewall that passes only TCP to port 443",
  {
    restrict: (network, names) =>
      inEach(
        network,
        names,
        "ip rule add pref 100 ipproto tcp dport 443 lookup main",
        "ip rule add pref 101 blackhole",
      ),
    url: `wss://${SERVER_ADDRESS}:443`,
    options: "--dev-tls=443",
    configuration: `turn: {tls: true, urls: ["turns:${SERVER_ADDRESS}:443?transport=tcp"]}\n`,
    flags: ["--ignore-certificate-errors"],
  },
  (world) => {
    it("two browsers see each other through the TURN server beside HTTPS", { timeout: 90_000 }, async () => {
      await world.sees();
      assert.ok(world.figure("weir_turn_allocations") >= 2, "media passes through the TURN server");
    });
  },
);

meeting(
  "in a network with IPv6 only",
  {
    restrict(network, names) {
      inEach(network, ["hub", ...names], "sysctl -q -w net.ipv6.conf.all.disable_ipv6=0");
      run(network.namespace("hub"), "ip address flush dev bridge", `ip address add ${NETWORK}::1/64 dev bridge nodad`);
      for (const [index, name] of names.entries()) {
        const address = `${NETWORK}::${11 + index}`;
        run(network.namespace(name), "ip address flush dev eth0", `ip address add ${address}/64 dev eth0 nodad`);
      }
    },
    address: `${NETWORK}::1`,
    host: `[${NETWORK}::1]`,
    // Without TCP, media passes over UDP.
    configuration: "rtc: {tcp_port: 0}\n",
  },
  (world) => {
    it("two browsers see each other over UDP", { timeout: 90_000 }, () => world.sees());
  },
  kernelIsMissing() || (!existsSync("/proc/sys/net/ipv6") && "needs IPv6"),
);

function inEach(network, places, ...lines) {
  for (const place of places) run(network.namespace(place), ...lines);
}
