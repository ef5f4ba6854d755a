import type { Downlink, Receiver, Subscription } from "../../operator";
import type { Received, Sent } from "./readings";
import { awaitsBetter, isReduced } from "./targets";

/** How something does, in a sentence and a colour. */
export interface Verdict {
  mood: "good" | "warn" | "bad" | "quiet";
  words: string;
}

/** The server's view of one video. */
export interface Belief {
  view: Receiver;
  subscription: Subscription;
}

/** Below this part of the capacity, less is sent for a while. */
const DRAINING = 0.95;

/** From here on loss is heard and seen. */
export const LOSS_SEEN = 0.03;

/** A viewer's verdict: whether the video is as good as it gets, and if not, why. */
export function verdictOnReceived(received: Received, server: Belief | undefined, paused: boolean): Verdict {
  if (paused) return { mood: "bad", words: "Paused: your connection is too slow" };
  if (received.frozeLately) return { mood: "bad", words: "The picture froze a moment ago" };
  if (received.width === 0) return { mood: "quiet", words: "The picture is on its way" };
  if ((received.loss ?? 0) >= LOSS_SEEN) return { mood: "warn", words: "Packets are lost on the way to you" };
  if (server && isReduced(server.view, server.subscription))
    return { mood: "warn", words: "Reduced to fit your connection" };
  if (server && awaitsBetter(server.subscription)) return { mood: "quiet", words: "A better picture is on its way" };
  return { mood: "good", words: "As good as this tile needs" };
}

/** A publisher's verdict: whether the others get the video as they should. */
export function verdictOnSent(sent: Sent): Verdict {
  const active = sent.encodings.filter((encoding) => encoding.active);
  if (active.length === 0) return { mood: "quiet", words: "Not sent: nobody is watching" };
  const limited = (reason: string) => active.some((encoding) => encoding.limitation === reason);
  if (limited("cpu")) return { mood: "warn", words: "Reduced: this computer is busy" };
  if (limited("bandwidth")) return { mood: "warn", words: "Reduced: your connection carries no more" };
  if ((sent.loss ?? 0) >= LOSS_SEEN) return { mood: "warn", words: "Packets are lost on the way to the server" };
  return { mood: "good", words: "All that is watched is sent" };
}

export function rateWords(bitsPerSecond: number): string {
  if (bitsPerSecond >= 999_500) return `${(bitsPerSecond / 1e6).toFixed(bitsPerSecond < 9.95e6 ? 2 : 1)} Mbit/s`;
  return `${Math.round(bitsPerSecond / 1000)} kbit/s`;
}

export function partWords(part: number | undefined): string {
  if (part === undefined) return "–";
  const percent = 100 * part;
  return `${percent > 0 && percent < 9.95 ? percent.toFixed(1) : Math.round(percent)} %`;
}

export function timeWords(milliseconds: number | null | undefined): string {
  if (milliseconds === undefined || milliseconds === null) return "–";
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${milliseconds < 10 && milliseconds > 0 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
}

export function sizeWords({ width, height }: { width: number; height: number }): string {
  return width > 0 ? `${width}×${height}` : "–";
}

/** The reason that an estimate is not higher. */
export function limitWords({ limit, sendable_bps, target_bps }: Downlink): string {
  if (sendable_bps < DRAINING * target_bps) return "while a queue drains";
  switch (limit) {
    case "delay":
      return "held by delay";
    case "loss":
      return "held by loss";
    case "remb":
      return "held by your browser";
    case "silence":
      return "no reports";
    default:
      return "first guess";
  }
}
