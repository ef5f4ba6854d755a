import {
  isTrackReference,
  type TrackReferenceOrPlaceholder,
  useConnectionQualityIndicator,
  useIsMuted,
  useIsSpeaking,
  VideoTrack,
} from "@livekit/components-react";
import { ConnectionQuality, type Participant, Track } from "livekit-client";
import { Avatar } from "../ui/Avatar";
import { Icon } from "../ui/Icon";
import type { Size } from "./grid";
import { nameOf } from "./person";

interface Pin {
  pinned: boolean;
  toggle: () => void;
}

interface TileProps {
  reference: TrackReferenceOrPlaceholder;
  size?: Size;
  pin?: Pin | undefined;
}

/** One person's camera, or one shared screen, with who it is and how they are. */
export function Tile({ reference, size, pin }: TileProps) {
  const { participant, source } = reference;
  const isScreen = source === Track.Source.ScreenShare;
  const speaking = useIsSpeaking(participant) && !isScreen;
  const hidden = useIsMuted(reference);
  const shown = isTrackReference(reference) && !hidden;
  const mirrored = participant.isLocal && !isScreen;
  const name = participant.isLocal ? "You" : nameOf(participant);

  return (
    <article
      className={`tile${isScreen ? " tile-screen" : ""}${speaking ? " tile-speaking" : ""}`}
      style={size}
      data-identity={participant.identity}
      data-source={source}
      aria-label={isScreen ? `${name}: shared screen` : `${name}${speaking ? ", speaking" : ""}`}
    >
      {shown ? (
        <VideoTrack trackRef={reference} className={mirrored ? "mirrored" : ""} />
      ) : (
        <Avatar name={nameOf(participant)} />
      )}
      <footer className="tile-label">
        {isScreen ? <Icon name="screen" size={16} /> : <MicrophoneState participant={participant} />}
        <span className="tile-name">{isScreen ? `${name === "You" ? "Your" : `${name}’s`} screen` : name}</span>
        <WeakConnection participant={participant} />
      </footer>
      {pin && (
        <button
          type="button"
          className="tile-pin"
          aria-label={pin.pinned ? `Unpin ${name}` : `Pin ${name}`}
          aria-pressed={pin.pinned}
          onClick={pin.toggle}
        >
          <Icon name="pin" size={18} />
        </button>
      )}
    </article>
  );
}

function MicrophoneState({ participant }: { participant: Participant }) {
  const muted = useIsMuted({ participant, source: Track.Source.Microphone });
  if (!muted) return null;
  return (
    <span className="tile-muted">
      <Icon name="microphone-off" size={16} />
      <span className="unseen">Microphone off</span>
    </span>
  );
}

function WeakConnection({ participant }: { participant: Participant }) {
  const { quality } = useConnectionQualityIndicator({ participant });
  if (quality !== ConnectionQuality.Poor && quality !== ConnectionQuality.Lost) return null;
  return (
    <span className="tile-weak" title="Weak connection">
      <Icon name="weak" size={16} />
      <span className="unseen">Weak connection</span>
    </span>
  );
}
