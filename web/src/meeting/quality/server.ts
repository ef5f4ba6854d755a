import type { Receiver } from "../../operator";

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
  #view: Receiver | undefined;
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

  readonly view = (): Receiver | undefined => this.#view;

  async #ask(): Promise<void> {
    clearTimeout(this.#timer);
    const url = `${this.server.replace(/^ws/, "http").replace(/\/$/, "")}/api/receivers/me`;
    const headers = { Authorization: `Bearer ${this.token()}` };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(LATE_MS) }).catch(() => undefined);
    const view = response?.ok ? ((await response.json().catch(() => undefined)) as Receiver | undefined) : undefined;
    this.#view = view && Array.isArray(view.subscriptions) ? view : undefined;
    for (const tell of this.#watchers) tell();
    if (this.#watchers.size === 0) return;
    clearTimeout(this.#timer);
    const refused = response && !response.ok && response.status < 500;
    this.#timer = setTimeout(() => void this.#ask(), refused ? REFUSED_MS : ASK_EVERY_MS);
  }
}
