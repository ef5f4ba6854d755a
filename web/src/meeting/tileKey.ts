import { isTrackReference, type TrackReferenceOrPlaceholder } from "@livekit/components-react";
import { Track } from "livekit-client";

/**
 * Names a tile across renders: a person's camera keeps its tile whether it is on, off or never was.
 */
export function keyOf(reference: TrackReferenceOrPlaceholder): string {
  const screen = isTrackReference(reference) && reference.source === Track.Source.ScreenShare;
  return `${reference.participant.identity} ${screen ? reference.publication.trackSid : reference.source}`;
}
