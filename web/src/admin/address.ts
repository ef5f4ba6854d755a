/** A view of the operator's page. */
export type View =
  | { at: "rooms" }
  | { at: "people" }
  | { at: "places" }
  | { at: "audit" }
  | { at: "room"; room: string }
  | { at: "participant"; room: string; identity: string };

const TOKEN_KEY = "weir.admin.token";

/** Whether an address is that of the operator's page. */
export function isAdmin(location: Location): boolean {
  return location.pathname.replace(/\/+$/, "") === "/admin";
}

/**
 * The operator's token: that of the fragment `#token=`, which is taken out of the address bar at
 * once, or the one that was used in this tab before.
 */
export function readToken(location: Location): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
  if (token) {
    saveToken(token);
    history.replaceState(null, "", location.pathname);
  }
  return token ?? sessionStorage.getItem(TOKEN_KEY) ?? undefined;
}

/** Keeps a token for reloads of this tab; `undefined` forgets it. */
export function saveToken(token: string | undefined): void {
  if (token) sessionStorage.setItem(TOKEN_KEY, token);
  else sessionStorage.removeItem(TOKEN_KEY);
}

/** The view of a fragment such as `#/rooms/lobby/ada`; the rooms for one that is none. */
export function readView(hash: string): View {
  const [first, ...names] = hash.replace(/^#\/?/, "").split("/");
  const [room, identity] = names.map(decoded);
  if (first === "rooms" && room && identity) return { at: "participant", room, identity };
  if (first === "rooms" && room) return { at: "room", room };
  if (first === "people" || first === "places" || first === "audit") return { at: first };
  return { at: "rooms" };
}

/** The fragment of a view. */
export function hashOf(view: View): string {
  switch (view.at) {
    case "room":
      return `#/rooms/${encodeURIComponent(view.room)}`;
    case "participant":
      return `#/rooms/${encodeURIComponent(view.room)}/${encodeURIComponent(view.identity)}`;
    default:
      return `#/${view.at}`;
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
