import { isTrackReference, type TrackReferenceOrPlaceholder } from "@livekit/components-react";
import { ParticipantEvent, Track } from "livekit-client";
import { useEffect, useState } from "react";

/** How long an old frame stays covered when the browser does not report a new one. */
const NEXT_FRAME_MS = 3000;

/**
 * Whether the server pauses a video because this connection does not carry it.
 *
 * Ends with the first new frame rather than with the server's message, so that the old one is not
 * seen again.
 */
export function usePaused(reference: TrackReferenceOrPlaceholder): boolean {
  const { participant } = reference;
  const publication = isTrackReference(reference) ? reference.publication : undefined;
  const track = publication?.track;
  const [paused, setPaused] = useState(false);

  useEffect(() => {
    let stopWaiting = () => {};
    const isPaused = () => track?.streamState === Track.StreamState.Paused;
    const look = () => {
      stopWaiting();
      if (isPaused()) setPaused(true);
      else if (track) stopWaiting = onNextFrame(track, () => setPaused(false));
    };
    setPaused(isPaused());
    participant.on(ParticipantEvent.TrackStreamStateChanged, look);
    return () => {
      stopWaiting();
      participant.off(ParticipantEvent.TrackStreamStateChanged, look);
    };
  }, [participant, track]);
  return paused;
}

/** Calls `then` once a track shows a new frame. Returns how to stop waiting. */
function onNextFrame(track: Track, then: () => void): () => void {
  const late = setTimeout(then, NEXT_FRAME_MS);
  const video = track.attachedElements.find((element) => element instanceof HTMLVideoElement);
  const asked = video?.requestVideoFrameCallback?.(() => {
    clearTimeout(late);
    then();
  });
  return () => {
    clearTimeout(late);
    if (asked !== undefined) video?.cancelVideoFrameCallback(asked);
  };
}
