import { Figure } from "./Figure";
import { PictureLine } from "./PictureLine";
import type { Sent, SentEncoding } from "./readings";
import { Sparkline } from "./Sparkline";
import { VerdictLine } from "./VerdictLine";
import { LOSS_SEEN, partWords, rateWords, sizeWords, timeWords, verdictOnSent } from "./words";

/** The participant's own video as it is sent. */
export function SentQuality({ sent, rates }: { sent: Sent; rates: number[] }) {
  const best = sent.encodings.findLast((encoding) => encoding.active);
  return (
    <>
      <VerdictLine {...verdictOnSent(sent)} />
      <PictureLine width={best?.width ?? 0} height={best?.height ?? 0} fps={best?.fps ?? 0} codec={sent.codec} />
      <div className="quality-rate">
        <Sparkline values={rates} />
        <strong>{rateWords(sent.rate)}</strong>
      </div>
      <ul className="encodings" aria-label="Versions sent">
        {sent.encodings.map((encoding, index) => (
          <Encoding key={encoding.name} encoding={encoding} name={nameOf(index, sent.encodings.length)} />
        ))}
      </ul>
      <dl className="figures">
        <Figure name="Loss" alarming={(sent.loss ?? 0) >= LOSS_SEEN}>
          {partWords(sent.loss)}
        </Figure>
        <Figure name="Round trip">{timeWords(sent.roundTrip)}</Figure>
        {best?.layers && <Figure name="Layers">{best.layers}</Figure>}
      </dl>
    </>
  );
}

function nameOf(index: number, count: number): string {
  return (count > 2 ? ["small", "medium", "large"] : count > 1 ? ["small", "large"] : ["picture"])[index] ?? `${index}`;
}

function Encoding({ encoding, name }: { encoding: SentEncoding; name: string }) {
  if (!encoding.active) {
    return (
      <li className="encoding encoding-idle">
        <span>{name}</span>
        <span>not sent: nobody asks for it</span>
      </li>
    );
  }
  return (
    <li className="encoding">
      <span>{name}</span>
      <strong>{sizeWords(encoding)}</strong>
      <span>{Math.round(encoding.fps)} fps</span>
      <span>{rateWords(encoding.rate)}</span>
      {encoding.limitation !== "none" && <span className="encoding-why">{WHY[encoding.limitation]}</span>}
    </li>
  );
}

const WHY = {
  cpu: "held back by this computer",
  bandwidth: "held back by the connection",
  other: "held back",
};
