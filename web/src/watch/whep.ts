/** The reason that nothing is played. */
export type Silence = "waiting" | "closed" | "unreachable";

/** Nothing is played, and perhaps will be later. */
export class WatchError extends Error {
  constructor(
    readonly why: Silence,
    /** The time after which to ask again, in seconds; `undefined` for not at all. */
    readonly retryAfter: number | undefined,
  ) {
    super(why);
  }
}

/** The time after which to ask again where the server does not say one, in seconds. */
const RETRY_AFTER = 3;

/**
 * Plays a room by WHEP until its connection ends or `signal` aborts. `onStream` gets the stream
 * with its first track.
 *
 * The server answers connectivity checks and makes none, so it needs none of this page's
 * candidates: the offer is sent at once.
 */
export async function play(room: string, signal: AbortSignal, onStream: (stream: MediaStream) => void): Promise<void> {
  const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
  const stream = new MediaStream();
  let session: string | undefined;
  try {
    connection.addTransceiver("audio", { direction: "recvonly" });
    connection.addTransceiver("video", { direction: "recvonly" });
    connection.ontrack = ({ track }) => {
      stream.addTrack(track);
      onStream(stream);
    };
    const ended = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve());
      connection.onconnectionstatechange = () => {
        if (["failed", "closed"].includes(connection.connectionState)) resolve();
      };
    });
    await connection.setLocalDescription();
    const answer = await open(room, connection.localDescription?.sdp ?? "", signal);
    session = answer.session;
    await connection.setRemoteDescription({ type: "answer", sdp: answer.sdp });
    await ended;
  } finally {
    connection.close();
    // The page may be going away; the server notices an end without this as well.
    if (session) void fetch(session, { method: "DELETE", keepalive: true }).catch(() => undefined);
  }
}

async function open(room: string, sdp: string, signal: AbortSignal): Promise<{ session: string; sdp: string }> {
  const response = await fetch(`/whep/v1?room=${encodeURIComponent(room)}`, {
    method: "POST",
    headers: { "Content-Type": "application/sdp" },
    body: sdp,
    signal,
  }).catch(() => {
    throw new WatchError("unreachable", RETRY_AFTER);
  });
  const retryAfter = Number(response.headers.get("Retry-After")) || RETRY_AFTER;
  if (response.status === 409) throw new WatchError("waiting", retryAfter);
  if (response.status >= 500) throw new WatchError("unreachable", retryAfter);
  const session = response.headers.get("Location");
  if (response.status !== 201 || !session) throw new WatchError("closed", undefined);
  return { session, sdp: await response.text() };
}
