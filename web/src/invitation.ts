/** The page's address as an invitation: the room, and perhaps the token for it. */
export interface Invitation {
  room: string;
  token: string | undefined;
}

const DEFAULT_ROOM = "lobby";
const TOKEN_KEY = "weir.token";

/**
 * Reads the room from `?room=`, and the token from the fragment.
 *
 * A token is a person's own key, so it is read from the fragment only, which browsers never send to
 * a server, and taken out of the address bar at once: people invite others by copying the address.
 * It is kept for this tab, for reloads.
 */
export function readInvitation(location: Location): Invitation {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get("token") ?? undefined;
  if (token) {
    sessionStorage.setItem(TOKEN_KEY, token);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return { room: roomOf(location), token: token ?? sessionStorage.getItem(TOKEN_KEY) ?? undefined };
}

/** Forgets a token that the server refused, so that a reload asks for another. */
export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN_KEY);
}

/** The address for an invitation: this room, and no token. */
export function invitationLink(room: string): string {
  const link = new URL("/", window.location.origin);
  link.searchParams.set("room", room);
  return link.href;
}

function roomOf(location: Location): string {
  return new URLSearchParams(location.search).get("room")?.trim() || DEFAULT_ROOM;
}
