import { useEffect, useRef, useState } from "react";
import { play, type Silence, WatchError } from "./whep";

const WORDS: Record<Silence | "starting", string> = {
  starting: "Connecting",
  waiting: "Nobody is on air yet. This page starts by itself.",
  closed: "This room is not open to viewers.",
  unreachable: "The server does not answer. This page tries again by itself.",
};

/** The page of a viewer without a token: the room's first publisher, and nothing else. */
export function Watch({ room }: { room: string }) {
  const video = useRef<HTMLVideoElement>(null);
  const [shown, setShown] = useState<keyof typeof WORDS | "playing">("starting");
  // Browsers start a page's sound only after a click.
  const [muted, setMuted] = useState(true);

  useEffect(() => {
    const abort = new AbortController();
    const onStream = (stream: MediaStream) => {
      if (video.current && video.current.srcObject !== stream) video.current.srcObject = stream;
      setShown("playing");
    };
    void keepPlaying(room, abort.signal, onStream, setShown);
    return () => abort.abort();
  }, [room]);

  return (
    <main className="watch">
      <video ref={video} autoPlay playsInline muted={muted} aria-label={`The broadcast of ${room}`} />
      {shown !== "playing" && <p role="status">{WORDS[shown]}</p>}
      {shown === "playing" && muted && (
        <button type="button" className="button primary" onClick={() => setMuted(false)}>
          Turn the sound on
        </button>
      )}
    </main>
  );
}

/** Plays a room again each time its connection ends. */
async function keepPlaying(
  room: string,
  signal: AbortSignal,
  onStream: (stream: MediaStream) => void,
  onSilence: (why: Silence) => void,
): Promise<void> {
  while (!signal.aborted) {
    const failure = await play(room, signal, onStream).then(
      () => new WatchError("waiting", 1),
      (error: unknown) => (error instanceof WatchError ? error : new WatchError("unreachable", 3)),
    );
    if (signal.aborted) return;
    onSilence(failure.why);
    const { retryAfter } = failure;
    if (retryAfter === undefined) return;
    await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
  }
}
