// Browsers in networks of their own, which let only a part of the traffic pass, meet all the same.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { it } from "node:test";
import { run } from "../../../testkit/browsers/network.mjs";
import { BESIDE_HTTPS, describeMeeting, inEach, withoutUdp } from "../support/isolated.mjs";
import { kernelIsMissing } from "../support/kernel.mjs";

// From the range for private networks (RFC 4193).
const NETWORK = "fd12:3456:789a";

describeMeeting("behind a firewall without UDP", { restrict: withoutUdp }, (world) => {
  it("two browsers see each other over TCP", { timeout: 90_000 }, async () => {
    await world.sees();
    assert.ok(world.figure("weir_tcp_connections") >= 2, "media passes over TCP");
  });
});

describeMeeting(
  "behind a firewall that passes only TCP to port 443",
  {
    restrict: (network, names) =>
      inEach(
        network,
        names,
        "ip rule add pref 100 ipproto tcp dport 443 lookup main",
        "ip rule add pref 101 blackhole",
      ),
    ...BESIDE_HTTPS,
  },
  (world) => {
    it("two browsers see each other through the TURN server beside HTTPS", { timeout: 90_000 }, async () => {
      await world.sees();
      assert.ok(world.figure("weir_turn_allocations") >= 2, "media passes through the TURN server");
    });
  },
);

describeMeeting(
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
