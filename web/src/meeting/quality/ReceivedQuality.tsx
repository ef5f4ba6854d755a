import { Figure } from "./Figure";
import { PictureLine } from "./PictureLine";
import type { Received } from "./readings";
import { ServerPart } from "./ServerPart";
import { useServerView } from "./ServerPollContext";
import { Sparkline } from "./Sparkline";
import { VerdictLine } from "./VerdictLine";
import { LOSS_SEEN, partWords, rateWords, timeWords, verdictOnReceived } from "./words";

interface ReceivedQualityProps {
  received: Received;
  rates: number[];
  trackSid: string | undefined;
  paused: boolean;
}

/** Another person's video as it arrives here, and the server's view of it. */
export function ReceivedQuality({ received, rates, trackSid, paused }: ReceivedQualityProps) {
  const view = useServerView();
  const subscription = view?.subscriptions.find(({ track }) => track === trackSid);
  const belief = view && subscription && { view, subscription };
  return (
    <>
      <VerdictLine {...verdictOnReceived(received, belief, paused)} />
      {paused ? (
        <p className="quality-head">
          <strong>No picture</strong>
        </p>
      ) : (
        <PictureLine width={received.width} height={received.height} fps={received.fps} codec={received.codec} />
      )}
      <div className="quality-rate">
        <Sparkline values={rates} />
        <strong>{rateWords(received.rate)}</strong>
      </div>
      <dl className="figures">
        <Figure name="Loss" alarming={(received.loss ?? 0) >= LOSS_SEEN}>
          {partWords(received.loss)}
        </Figure>
        <Figure name="Jitter">{timeWords(received.jitter)}</Figure>
        <Figure name="Round trip">{timeWords(received.roundTrip)}</Figure>
        <Figure name="Freezes" alarming={received.frozeLately}>
          {received.freezes === 0 ? "none" : `${received.freezes}, ${timeWords(received.frozen)}`}
        </Figure>
      </dl>
      {belief && <ServerPart {...belief} />}
    </>
  );
}
