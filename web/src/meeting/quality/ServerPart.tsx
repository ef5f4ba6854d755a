import type { Downlink, SubscriptionState, Target } from "../../operator";
import { layerOf, layerWords } from "./targets";
import { type Belief, limitWords, rateWords, sizeWords } from "./words";

/** The server's estimate of this downlink, and the layer that it grants. */
export function ServerPart({ view, subscription }: Belief) {
  const { wanted, granted, current, arrives, state } = subscription;
  const words = (target: Target | null) => {
    const layer = target && layerOf(target, arrives);
    return layer ? sizeWords(layer) : "–";
  };
  return (
    <section className="quality-server" aria-label="The server's estimate">
      {view.downlink ? (
        <DownlinkBar downlink={view.downlink} />
      ) : (
        <p className="downlink-fine">The server does not measure your downlink.</p>
      )}
      <ol className="targets">
        <Step name="wanted" words={wanted.width && wanted.height ? `${wanted.width}×${wanted.height}` : "the best"} />
        <Step
          name="granted"
          words={state === "sent" ? words(granted) : (STATES[state] ?? state)}
          layer={layerWords(granted, arrives)}
        />
        <Step name="sent now" words={words(current)} layer={layerWords(current, arrives)} />
      </ol>
    </section>
  );
}

/** The reason that nothing is granted. */
const STATES: Record<Exclude<SubscriptionState, "sent">, string> = {
  undecided: "not yet",
  no_room: "no room",
  left_out: "left out",
  held: "held",
  disabled: "nothing",
};

function Step({ name, words, layer = "" }: { name: string; words: string; layer?: string }) {
  return (
    <li>
      <span className="target-name">{name}</span>
      <strong>{words}</strong>
      {layer && <span>{layer}</span>}
    </li>
  );
}

function DownlinkBar({ downlink }: { downlink: Downlink }) {
  const { sendable_bps, allocated_bps, wanted_bps } = downlink;
  const enough = allocated_bps >= wanted_bps;
  const used = Math.min(1, allocated_bps / Math.max(1, sendable_bps));
  return (
    <div className="downlink">
      <p className="downlink-words">
        <span>Your downlink</span>{" "}
        <strong>
          {rateWords(sendable_bps)}
          {enough && " or more"}
        </strong>
      </p>
      <div className="downlink-bar" aria-hidden="true">
        <span style={{ width: `${(100 * used).toFixed(1)}%` }} />
      </div>
      <p className="downlink-words downlink-fine">
        <span>{rateWords(allocated_bps)} granted</span>
        <span>{enough ? "all you watch" : limitWords(downlink)}</span>
      </p>
    </div>
  );
}
