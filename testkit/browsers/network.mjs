// The network:
//
//   ada ---+                         +--- the server
//   bob ---+--- bridge in the hub ---+
//   cyd --- near [cable] far ---+    +--- this machine, when the server is not ours
//
// Each participant is in a network namespace of its own. The cable is a relay between two
// interfaces, with the limited participant at its far end.

import { shell, succeeds } from "./shell.mjs";

// From the range set aside for benchmarks (RFC 2544), so that it is nobody's network.
export const SERVER_ADDRESS = "198.18.0.1";
export const MACHINE_ADDRESS = "198.18.0.254";
const address = (index) => `198.18.0.${11 + index}`;

/** Builds the network. `people` are `{ name, limited }`; everything goes with `remove()`. */
export function createNetwork(prefix, people) {
  const within = (place) => `${prefix}-${place}`;
  const places = ["hub", "cable", ...people.map(({ name }) => name)];
  const remove = () => {
    for (const place of places) removeNamespace(within(place));
  };
  try {
    for (const place of places) addNamespace(within(place));
    run(within("hub"), "ip link add bridge type bridge", "ip link set bridge up");
    run(within("hub"), `ip address add ${SERVER_ADDRESS}/24 dev bridge`);
    for (const [index, { name, limited }] of people.entries()) {
      if (limited) {
        join([within(name), "eth0"], [within("cable"), "near"]);
        join([within("cable"), "far"], [within("hub"), name]);
        run(within("cable"), "ip link set near promisc on", "ip link set far promisc on");
      } else {
        join([within(name), "eth0"], [within("hub"), name]);
      }
      run(within("hub"), `ip link set ${name} master bridge`);
      run(within(name), `ip address add ${address(index)}/24 dev eth0`);
    }
  } catch (error) {
    remove();
    throw error;
  }
  return {
    /** The namespace of a place: "hub", "cable" or a person's name. */
    namespace: within,
    namespaces: places.map(within),
    /** A person's address. */
    address: (person) => address(people.findIndex(({ name }) => name === person)),
    /** A person's cable is pulled: nobody is told. */
    unplug: (person) => run(within("hub"), `ip link set ${person} down`),
    /**
     * Connects this machine itself, for a server that runs outside; everybody reaches all its
     * addresses.
     */
    connectMachine() {
      const outside = `weir-${process.pid}`;
      shell(`ip link add ${outside} type veth peer name machine netns ${within("hub")}`);
      shell(`ip address add ${MACHINE_ADDRESS}/24 dev ${outside}`);
      shell(`ip link set ${outside} up`);
      wholeFrames(`ethtool -K ${outside}`);
      run(within("hub"), "ip link set machine master bridge", "ip link set machine up");
      for (const { name } of people) run(within(name), `ip route add default via ${MACHINE_ADDRESS}`);
    },
    remove,
  };
}

/** Adds a namespace without traffic of its own. */
export function addNamespace(name) {
  shell(`ip netns add ${name}`);
  // The cable answers nobody and nobody asks routers: no address of the other family, no traffic of
  // its own.
  for (const which of ["all", "default"]) {
    if (succeeds(`test -e /proc/sys/net/ipv6/conf/${which}/disable_ipv6`)) {
      shell(`ip netns exec ${name} sysctl -q -w net.ipv6.conf.${which}.disable_ipv6=1`);
    }
  }
  run(name, "ip link set lo up");
}

/** Ends the processes in the namespace, and removes it with its interfaces. */
export function removeNamespace(name) {
  if (!succeeds(`ip netns pids ${name}`)) return;
  for (const pid of shell(`ip netns pids ${name}`).split("\n").filter(Boolean)) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
  succeeds(`ip netns delete ${name}`);
}

/** Connects two namespaces by interfaces of these names, which pass whole frames. */
export function join([oneSpace, one], [otherSpace, other]) {
  shell(`ip link add ${one} netns ${oneSpace} type veth peer name ${other} netns ${otherSpace}`);
  for (const [space, name] of [
    [oneSpace, one],
    [otherSpace, other],
  ]) {
    run(space, `ip link set ${name} up`);
    wholeFrames(`ip netns exec ${space} ethtool -K ${name}`);
  }
}

/**
 * A veth pair passes on buffers as they were sent: super-packets of up to 64 kB, and checksums not
 * yet computed. Both are switched off here.
 */
function wholeFrames(ethtool) {
  shell(`${ethtool} tx off rx off gso off gro off tso off`);
}

/** Runs commands in a namespace. */
export function run(namespace, ...lines) {
  for (const line of lines) shell(`ip netns exec ${namespace} ${line}`);
}

/** Whether the kernel can shape by `tc`. */
export function hasTokenBucket(network) {
  const there = succeeds(
    `ip netns exec ${network.namespace("cable")} tc qdisc replace dev near root tbf rate 1mbit burst 4000 limit 20000`,
  );
  if (there) shell(`ip netns exec ${network.namespace("cable")} tc qdisc delete dev near root`);
  return there;
}
