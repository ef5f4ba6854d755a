import type { Bearer } from "./views";

/** The server's refusal of a request, or its silence. */
export class ApiError extends Error {
  constructor(
    /** The HTTP status; 0 for no answer. */
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The server's API, with the operator's token. */
export interface Api {
  bearer: Bearer;
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  act(method: "DELETE" | "POST", path: string): Promise<void>;
}

/**
 * Asks the server whom a token belongs to.
 *
 * Errors: `ApiError` for a token that gives no access.
 */
export async function openApi(token: string): Promise<Api> {
  const ask = async (method: string, path: string, signal?: AbortSignal): Promise<Response> => {
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await fetch(path, { method, headers, signal: signal ?? null }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new ApiError(0, "The server does not answer.");
    });
    if (!answer.ok) throw new ApiError(answer.status, sentence(answer.status, await answer.text()));
    return answer;
  };
  const get = async <T>(path: string, signal?: AbortSignal) => (await ask("GET", path, signal)).json() as Promise<T>;
  return {
    bearer: await get<Bearer>("/api/bearer"),
    get,
    act: async (method, path) => void (await ask(method, path)),
  };
}

/** The path of a room, of a participant in it, or of the participant's track. */
export function pathOf(room: string, identity?: string, track?: string): string {
  const parts = ["/api/rooms", encodeURIComponent(room)];
  if (identity !== undefined) parts.push("participants", encodeURIComponent(identity));
  if (track !== undefined) parts.push("tracks", encodeURIComponent(track));
  return parts.join("/");
}

function sentence(status: number, body: string): string {
  switch (status) {
    case 401:
      return "The server does not accept this token. It is malformed, expired, or signed with another key.";
    case 403:
      return "This token does not give access. The grant roomAdmin is needed, and roomList for all rooms.";
    default:
      return body.trim() || `The server answers with status ${status}.`;
  }
}
