/**
 * The server's estimate of this participant's downlink, and its decisions: the answer of
 * `/api/receivers/me`.
 */
export interface ServerView {
  /** `null` if nothing is measured. */
  downlink: Downlink | null;
  subscriptions: Subscription[];
}

/** The estimate of the downlink. */
export interface Downlink {
  target_bps: number;
  /**
   * The rate that may be sent now: less than the target while a queue drains. This rate is
   * divided.
   */
  sendable_bps: number;
  /** The rate of everything granted. */
  allocated_bps: number;
  /** The rate of everything wanted. */
  wanted_bps: number;
  /** The reason that the estimate is not higher. */
  limit: string;
}

/** One track this participant gets. */
export interface Subscription {
  track: string;
  /** `sent`, or the reason that it is not. */
  state: string;
  /** `null` for no limit. */
  wanted: { width: number | null; height: number | null; encoding_max: number | null; spatial_max: number | null };
  granted: Target | null;
  current: Target | null;
  /** The layers that arrive at the server, the lowest first. */
  arrives: Layer[];
}

/** A simulcast version, and the highest layer inside it; `null` for no limit of the layer. */
export interface Target {
  encoding: number;
  spatial: number | null;
  temporal: number | null;
}

/** One layer that arrives at the server. */
export interface Layer extends Target {
  width: number;
  height: number;
}

const ASK_EVERY_MS = 1500;
/** A refusal may be due to a reconnection in progress. */
const REFUSED_MS = 30_000;
/** A connection full of media may delay an answer; a late answer is out of date. */
const LATE_MS = 4000;

/**
 * Asks the server for its view, while anybody looks.
 *
 * A server that is no Weir, or does not give its view to participants, is asked seldom.
 */
export class ServerPoll {
  #view: ServerView | undefined;
  #watchers = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `token` is asked for each time: the server sends new ones before the old ones expire. */
  constructor(
    readonly server: string,
    readonly token: () => string,
  ) {}

  /** For `useSyncExternalStore`. */
  readonly watch = (onChange: () => void): (() => void) => {
    this.#watchers.add(onChange);
    if (this.#watchers.size === 1) void this.#ask();
    return () => {
      this.#watchers.delete(onChange);
      if (this.#watchers.size > 0) return;
      clearTimeout(this.#timer);
      // A later viewer needs a new answer.
      this.#view = undefined;
    };
  };

  readonly view = (): ServerView | undefined => this.#view;

  async #ask(): Promise<void> {
    clearTimeout(this.#timer);
    const url = `${this.server.replace(/^ws/, "http").replace(/\/$/, "")}/api/receivers/me`;
    const headers = { Authorization: `Bearer ${this.token()}` };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(LATE_MS) }).catch(() => undefined);
    const view = response?.ok ? ((await response.json().catch(() => undefined)) as ServerView | undefined) : undefined;
    this.#view = view && Array.isArray(view.subscriptions) ? view : undefined;
    for (const tell of this.#watchers) tell();
    if (this.#watchers.size === 0) return;
    clearTimeout(this.#timer);
    const refused = response && !response.ok && response.status < 500;
    this.#timer = setTimeout(() => void this.#ask(), refused ? REFUSED_MS : ASK_EVERY_MS);
  }
}
