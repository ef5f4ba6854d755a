/**
 * The browser's statistics of one track, from two readings some seconds apart. Rates are bits per
 * second, times milliseconds.
 */
export type Reading = Received | Sent;

/** A track of another person. */
export interface Received {
  kind: "received";
  width: number;
  height: number;
  fps: number;
  codec: string;
  rate: number;
  /** Part of the packets that did not arrive, 0 to 1. */
  loss: number | undefined;
  jitter: number | undefined;
  roundTrip: number | undefined;
  /** Since the track began. */
  freezes: number;
  frozen: number;
  /** Whether the video froze within the last few seconds. */
  frozeLately: boolean;
}

/** The participant's own track, as sent. */
export interface Sent {
  kind: "sent";
  codec: string;
  rate: number;
  /** Part of the packets the server reports as lost, 0 to 1. */
  loss: number | undefined;
  roundTrip: number | undefined;
  /** In rising quality. */
  encodings: SentEncoding[];
}

/** One simulcast version, or the only one. */
export interface SentEncoding {
  name: string;
  /** Whether it is being sent: nobody may be watching it. */
  active: boolean;
  width: number;
  height: number;
  fps: number;
  rate: number;
  /** The layers in it, as `L3T3`, if the browser reports them. */
  layers: string;
  limitation: "none" | "bandwidth" | "cpu" | "other";
}

/**
 * The fields common to every kind of `RTCStats`, and the fields of several kinds that are read
 * here.
 */
type Row = RTCStats & Partial<RTCInboundRtpStreamStats> & Partial<RTCOutboundRtpStreamStats> & Extra;

/** Fields of browsers that TypeScript's library does not have. */
interface Extra {
  rid?: string;
  mimeType?: string;
  active?: boolean;
  scalabilityMode?: string;
  freezeCount?: number;
  totalFreezesDuration?: number;
  qualityLimitationReason?: string;
  currentRoundTripTime?: number;
  roundTripTime?: number;
  fractionLost?: number;
  nominated?: boolean;
}

/** Over how long rates are measured: shorter shows every key frame as a peak. */
const RATE_MS = 2000;
/**
 * Over how long loss and freezes are counted: long enough for one lost packet not to be ten
 * percent.
 */
const WINDOW_MS = 10_000;

/**
 * Makes readings of one track. Keeps the statistics of the last seconds, since a rate takes two of
 * them.
 */
export class Meter {
  #past: Map<string, Row>[] = [];

  /** The present reading; `undefined` while the report has no video or audio. */
  read(report: RTCStatsReport): Reading | undefined {
    const rows = new Map<string, Row>();
    for (const row of report.values()) rows.set(row.id, row as Row);
    const streams = [...rows.values()].filter((row) => row.type === "inbound-rtp" || row.type === "outbound-rtp");
    const [first] = streams;
    if (!first) return undefined;
    this.#past.push(rows);
    this.#past = this.#past.filter((past) => at(past) > at(rows) - WINDOW_MS - 500);
    return first.type === "inbound-rtp" ? this.#received(first, rows) : this.#sent(streams, rows);
  }

  #received(row: Row, rows: Map<string, Row>): Received {
    const earlier = this.#past[0]?.get(row.id) ?? row;
    const lost = Math.max(0, (row.packetsLost ?? 0) - (earlier.packetsLost ?? 0));
    const arrived = Math.max(0, (row.packetsReceived ?? 0) - (earlier.packetsReceived ?? 0));
    return {
      kind: "received",
      width: row.frameWidth ?? 0,
      height: row.frameHeight ?? 0,
      fps: this.#perSecond(row, "framesDecoded"),
      codec: codecOf(row, rows),
      rate: 8 * this.#perSecond(row, "bytesReceived"),
      loss: lost + arrived > 0 ? lost / (lost + arrived) : undefined,
      jitter: row.jitter === undefined ? undefined : 1000 * row.jitter,
      roundTrip: roundTripOf(rows),
      freezes: row.freezeCount ?? 0,
      frozen: 1000 * (row.totalFreezesDuration ?? 0),
      frozeLately: (row.freezeCount ?? 0) > (earlier.freezeCount ?? 0),
    };
  }

  #sent(streams: Row[], rows: Map<string, Row>): Sent {
    const encodings = streams.map((row) => this.#encoding(row)).sort((a, b) => order(a) - order(b));
    const reported = [...rows.values()].filter((row) => row.type === "remote-inbound-rtp");
    const lost = reported.map((row) => row.fractionLost).filter((part) => part !== undefined);
    return {
      kind: "sent",
      codec: streams[0] ? codecOf(streams[0], rows) : "",
      rate: encodings.reduce((sum, encoding) => sum + encoding.rate, 0),
      loss: lost.length > 0 ? Math.max(...lost) : undefined,
      roundTrip: roundTripOf(rows),
      encodings,
    };
  }

  #encoding(row: Row): SentEncoding {
    const fps = this.#perSecond(row, "framesEncoded");
    return {
      name: row.rid ?? "",
      active: row.active !== false && fps > 0,
      width: row.frameWidth ?? 0,
      height: row.frameHeight ?? 0,
      fps,
      rate: 8 * this.#perSecond(row, "bytesSent"),
      layers: row.scalabilityMode ?? "",
      limitation: limitationOf(row.qualityLimitationReason),
    };
  }

  /** By how much a counter rises. */
  #perSecond(row: Row, counter: "bytesReceived" | "bytesSent" | "framesDecoded" | "framesEncoded"): number {
    const past = this.#past.find((rows) => at(rows) >= row.timestamp - RATE_MS - 500)?.get(row.id);
    const elapsed = past ? row.timestamp - past.timestamp : 0;
    if (!past || elapsed <= 0) return 0;
    return Math.max(0, (1000 * ((row[counter] ?? 0) - (past[counter] ?? 0))) / elapsed);
  }
}

function at(rows: Map<string, Row>): number {
  let latest = 0;
  for (const row of rows.values()) latest = Math.max(latest, row.timestamp);
  return latest;
}

function codecOf(row: Row, rows: Map<string, Row>): string {
  const name = (row.codecId && rows.get(row.codecId)?.mimeType)?.split("/")[1] ?? "";
  return name === "opus" ? "Opus" : name;
}

/** To the server and back. Only the pair in use is measured all the time. */
function roundTripOf(rows: Map<string, Row>): number | undefined {
  const pair = [...rows.values()].find((row) => row.type === "candidate-pair" && row.nominated);
  const reported = [...rows.values()].find((row) => row.type === "remote-inbound-rtp");
  const seconds = pair?.currentRoundTripTime ?? reported?.roundTripTime;
  return seconds === undefined ? undefined : 1000 * seconds;
}

function limitationOf(reason: string | undefined): SentEncoding["limitation"] {
  return reason === "bandwidth" || reason === "cpu" || reason === "other" ? reason : "none";
}

/** Simulcast versions are called q, h and f, for a quarter, a half and the full size. */
function order({ name, width }: SentEncoding): number {
  const place = ["q", "h", "f"].indexOf(name);
  return place < 0 ? width : place;
}
