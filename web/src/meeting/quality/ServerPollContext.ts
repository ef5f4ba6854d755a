import type { Room } from "livekit-client";
import { createContext, useContext, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { Pass } from "../../access";
import type { Receiver } from "../../operator";
import { ServerPoll } from "./server";

/** The source of the server's view for the panels of a meeting: one poll for all of them. */
export const ServerPollContext = createContext<ServerPoll | undefined>(undefined);

/** The poll of one stay in a room. */
export function useServerPoll(room: Room | undefined, pass: Pass): ServerPoll {
  const token = useRef(pass.token);
  useEffect(() => {
    token.current = pass.token;
    // livekit-client tells of a refreshed token inside only, and types that event's name inside
    // only.
    const engine = room?.engine as unknown as Refreshing | undefined;
    const refreshed = (newer: string) => {
      token.current = newer;
    };
    engine?.on("tokenRefreshed", refreshed);
    return () => engine?.off("tokenRefreshed", refreshed);
  }, [room, pass]);
  return useMemo(() => new ServerPoll(pass.server, () => token.current), [pass]);
}

interface Refreshing {
  on(event: "tokenRefreshed", listener: (token: string) => void): void;
  off(event: "tokenRefreshed", listener: (token: string) => void): void;
}

const NOBODY = { watch: () => () => {}, view: () => undefined };

/**
 * The server's view, followed while the caller is shown; `undefined` where the server gives none.
 */
export function useServerView(): Receiver | undefined {
  const poll = useContext(ServerPollContext) ?? NOBODY;
  return useSyncExternalStore(poll.watch, poll.view);
}
