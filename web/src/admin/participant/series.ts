import type { Timeline, TimelineEntry } from "../../operator";

/** Values over time for one chart: the times in seconds first, then each line. */
export type Series = [times: number[], ...lines: (number | null)[][]];

/** A moment in a chart. */
export interface Mark {
  /** In seconds since the Unix epoch. */
  at: number;
  kind: "switch" | "pause";
}

/** The lines and marks of a timeline. */
export interface Charts {
  /** Estimate, allocated and wanted, in Mbit/s. */
  rates: Series;
  /** Losses to and from the participant, in per cent. */
  losses: Series;
  /** The queue and the round trip, in milliseconds. */
  delays: Series;
  marks: Mark[];
}

/** The charts of a timeline. */
export function chartsOf({ entries }: Timeline): Charts {
  const estimates = entries.filter((entry) => entry.observation === "estimate");
  const uplink = entries.filter(isUplinkLoss);
  const times = estimates.map(({ at_ms }) => at_ms / 1000);
  const mbit = (bps: number) => bps / 1e6;
  const losses = [
    ...estimates.map(({ at_ms, loss_permille }) => ({ at: at_ms / 1000, down: loss_permille / 10, up: null })),
    ...uplink.map(({ at_ms, expected, lost }) => ({
      at: at_ms / 1000,
      down: null,
      up: expected > 0 ? (100 * lost) / expected : 0,
    })),
  ].sort((a, b) => a.at - b.at);
  return {
    rates: [
      times,
      estimates.map(({ target_bps }) => mbit(target_bps)),
      estimates.map(({ allocated_bps }) => mbit(allocated_bps)),
      estimates.map(({ wanted_bps }) => mbit(wanted_bps)),
    ],
    losses: [losses.map(({ at }) => at), losses.map(({ down }) => down), losses.map(({ up }) => up)],
    delays: [times, estimates.map(({ queue_ms }) => queue_ms), estimates.map(({ round_trip_ms }) => round_trip_ms)],
    marks: entries.flatMap(markOf),
  };
}

type UplinkLoss = TimelineEntry & { observation: "loss" };

function isUplinkLoss(entry: TimelineEntry): entry is UplinkLoss {
  return entry.observation === "loss" && entry.direction === "uplink";
}

function markOf(entry: TimelineEntry): Mark[] {
  const at = entry.at_ms / 1000;
  if (entry.observation === "layer_switch") return [{ at, kind: "switch" }];
  if (entry.observation === "pause" && entry.paused) return [{ at, kind: "pause" }];
  return [];
}
