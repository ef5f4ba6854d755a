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
import { Icon, type IconName } from "../ui/Icon";
import type { Size } from "./grid";
import { PausedCover } from "./PausedCover";
import { nameOf } from "./person";
import { useOpenPanel } from "./quality/openPanels";
import { QualityPanel } from "./quality/QualityPanel";
import { keyOf } from "./tileKey";
import { usePaused } from "./usePaused";

interface Pin {
  pinned: boolean;
  toggle: () => void;
}

interface TileProps {
  reference: TrackReferenceOrPlaceholder;
  size?: Size;
  pin?: Pin | undefined;
}

/** One person's camera, or one shared screen, with the name and state of the person. */
export function Tile({ reference, size, pin }: TileProps) {
  const { participant, source } = reference;
  const isScreen = source === Track.Source.ScreenShare;
  const speaking = useIsSpeaking(participant) && !isScreen;
  const hidden = useIsMuted(reference);
  const shown = isTrackReference(reference) && !hidden;
  const paused = usePaused(reference) && shown;
  const [explained, explain] = useOpenPanel(keyOf(reference));
  const mirrored = participant.isLocal && !isScreen;
  const name = participant.isLocal ? "You" : nameOf(participant);

  return (
    <article
      className={`tile${isScreen ? " tile-screen" : ""}${speaking ? " tile-speaking" : ""}`}
      style={size}
      data-identity={participant.identity}
      data-source={source}
      data-track={reference.publication?.trackSid}
      data-paused={paused || undefined}
      aria-label={isScreen ? `${name}: shared screen` : `${name}${speaking ? ", speaking" : ""}`}
    >
      {shown ? (
        <VideoTrack trackRef={reference} className={mirrored ? "mirrored" : ""} />
      ) : (
        <Avatar name={nameOf(participant)} />
      )}
      {/* Over the video and not instead of it: a client that takes its video away is not sent it any more. */}
      {paused && <PausedCover name={nameOf(participant)} />}
      <footer className="tile-label">
        {isScreen ? <Icon name="screen" size={16} /> : <MicrophoneState participant={participant} />}
        <span className="tile-name">{isScreen ? `${name === "You" ? "Your" : `${name}’s`} screen` : name}</span>
        <WeakConnection participant={participant} />
      </footer>
      {explained && <QualityPanel reference={reference} name={name} paused={paused} />}
      <div className="tile-buttons">
        {pin && (
          <TileButton
            icon="pin"
            label={pin.pinned ? `Unpin ${name}` : `Pin ${name}`}
            on={pin.pinned}
            onClick={pin.toggle}
          />
        )}
        <TileButton
          icon="quality"
          label={`Quality of ${name}`}
          hint="Quality (Q for all)"
          on={explained}
          onClick={explain}
        />
      </div>
    </article>
  );
}

interface TileButtonProps {
  icon: IconName;
  label: string;
  hint?: string;
  on: boolean;
  onClick: () => void;
}

function TileButton({ icon, label, hint = label, on, onClick }: TileButtonProps) {
  return (
    <button type="button" className="tile-button" aria-label={label} aria-pressed={on} title={hint} onClick={onClick}>
      <Icon name={icon} size={18} />
    </button>
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
