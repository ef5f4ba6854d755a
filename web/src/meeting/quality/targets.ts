import type { Layer, Receiver, Subscription, Target } from "../../operator";

/** A video with this part of the displayed area counts as covering it, as in the server. */
const ENOUGH = 0.8;

/**
 * Whether a subscription gets less than is wanted and arrives, because the downlink does not carry
 * more.
 */
export function isReduced({ downlink }: Receiver, { granted, arrives, wanted }: Subscription): boolean {
  if (!downlink || downlink.allocated_bps >= downlink.wanted_bps) return false;
  const best = bestWanted(arrives, wanted);
  const sent = granted && layerOf(granted, arrives);
  if (!best || !sent) return false;
  const fastest = Math.max(
    ...arrives.filter((layer) => layer.encoding === sent.encoding).map((layer) => layer.temporal ?? 0),
  );
  return area(sent) < area(best) || (sent.temporal ?? 0) < fastest;
}

/** Whether a larger size is granted than is sent, and waits for its key frame. */
export function awaitsBetter({ granted, current, arrives }: Subscription): boolean {
  const next = granted && layerOf(granted, arrives);
  const now = current && layerOf(current, arrives);
  return Boolean(next && now && area(now) < area(next));
}

/** The smallest size that covers the displayed one, or the largest that arrives. */
function bestWanted(arrives: Layer[], wanted: Subscription["wanted"]): Layer | undefined {
  const allowed = arrives.filter(
    (layer) =>
      layer.encoding <= (wanted.encoding_max ?? layer.encoding) && (layer.spatial ?? 0) <= (wanted.spatial_max ?? 255),
  );
  const rising = allowed.sort((a, b) => area(a) - area(b));
  const shown = (wanted.width ?? 0) * (wanted.height ?? 0);
  const covering = shown > 0 ? rising.find((layer) => area(layer) >= ENOUGH * shown) : undefined;
  return covering ?? rising[rising.length - 1];
}

function area({ width, height }: Layer): number {
  return width * height;
}

/** The actual layer of a target: the highest that arrives at or below it. */
export function layerOf(target: Target, arrives: Layer[]): Layer | undefined {
  const within = (top: number | null, layer: number | null) => top === null || (layer ?? 0) <= top;
  const covered = arrives.filter(
    (layer) =>
      layer.encoding === target.encoding &&
      within(target.spatial, layer.spatial) &&
      within(target.temporal, layer.temporal),
  );
  return covered.reduce<Layer | undefined>(
    (best, layer) => (best && rank(best) > rank(layer) ? best : layer),
    undefined,
  );
}

function rank({ spatial, temporal }: Layer): number {
  return 16 * (spatial ?? 0) + (temporal ?? 0);
}

/**
 * The version and layers: `S1 T2`. Only alternatives are named, and a version only if its size
 * does not identify it.
 */
export function layerWords(target: Target | null, arrives: Layer[]): string {
  const layer = target && layerOf(target, arrives);
  if (!layer) return "";
  const several = (of: (layer: Layer) => number) => new Set(arrives.map(of)).size > 1;
  const words = [];
  if (layer.width === 0 && several((it) => it.encoding)) words.push(`version ${layer.encoding + 1}`);
  if (several((it) => it.spatial ?? 0)) words.push(`S${layer.spatial ?? 0}`);
  if (several((it) => it.temporal ?? 0)) words.push(`T${layer.temporal ?? 0}`);
  return words.join(" ");
}
