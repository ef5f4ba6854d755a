// A layer that nobody watches is not sent: livekit-client stops encoding it when the server says
// so.

import { after, before, it } from "node:test";
import { sends } from "./support/encodings.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const VGA = { resolution: { width: 640, height: 360, frameRate: 20 } };

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());

it("stops encodings nobody watches, and starts them again", { timeout: 120_000 }, async () => {
  const room = freshRoom("dynacast");
  const [ada, bob] = await Promise.all(["ada", "bob"].map((identity) => world.person(identity)));
  const options = {
    dynacast: true,
    videoCaptureDefaults: VGA,
    publishDefaults: { videoCodec: "vp8", simulcast: true },
  };
  await ada.join(room, { options });
  await ada.publish({ microphone: false });
  await bob.join(room);
  await bob.sees([ada], ["camera"]);
  await sends(ada, ["h", "q"]);
  const ask = (quality) =>
    bob.run((client, it) => client.publication("ada", "camera").setVideoQuality(client.VideoQuality[it]), quality);
  const subscribe = (on) => bob.run((client, it) => client.publication("ada", "camera").setSubscribed(it), on);
  await ask("LOW");
  await sends(ada, ["q"]);
  await bob.watches(ada);
  await ask("HIGH");
  await sends(ada, ["h", "q"]);
  await subscribe(false);
  await sends(ada, []);
  await subscribe(true);
  await sends(ada, ["h", "q"]);
  await bob.watches(ada);
});
