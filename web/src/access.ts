/** The credentials for a room: a token and the server it is for. */
export interface Pass {
  token: string;
  /** WebSocket address of the server. */
  server: string;
}

/** The reason that no pass was given, named by what the person can do about it. */
export class AccessError extends Error {
  constructor(
    readonly why: "unreachable" | "token-needed" | "refused",
    detail = "",
  ) {
    super(detail);
  }
}

/** The claims in a token. They are not verified here; the server does that. */
export interface Claims {
  name: string | undefined;
  room: string | undefined;
  expires: Date | undefined;
}

/** The server that served this page, as a WebSocket address. */
function ownServer(): string {
  return window.location.origin.replace(/^http/, "ws");
}

/**
 * Asks a development server for a pass. Other servers do not give them out: they answer
 * "token-needed".
 */
export async function requestPass(room: string, name: string): Promise<Pass> {
  const response = await fetch("/api/dev-token", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ room, name }),
  }).catch(() => {
    throw new AccessError("unreachable");
  });
  if (response.status === 404) throw new AccessError("token-needed");
  // A gateway that answers for a server that is gone means the same to a person as no answer.
  if (response.status >= 502 && response.status <= 504) throw new AccessError("unreachable");
  if (!response.ok) throw new AccessError("refused", (await response.text()).slice(0, 200));
  const { token, url } = (await response.json()) as { token: string; url?: string };
  return { token, server: url || ownServer() };
}

export function passFromToken(token: string): Pass {
  return { token: token.trim(), server: ownServer() };
}

/** Reads a token's claims for display, or `undefined` when it is no token at all. */
export function readClaims(token: string): Claims | undefined {
  try {
    const body = token.trim().split(".")[1] ?? "";
    const bytes = Uint8Array.from(atob(body.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as {
      name?: string;
      exp?: number;
      video?: { room?: string };
    };
    return {
      name: claims.name,
      room: claims.video?.room,
      expires: claims.exp === undefined ? undefined : new Date(claims.exp * 1000),
    };
  } catch {
    return undefined;
  }
}
