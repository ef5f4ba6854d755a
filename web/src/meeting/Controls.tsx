import { useRoomContext, useTrackToggle } from "@livekit/components-react";
import { Track } from "livekit-client";
import { type Device, deviceTrouble } from "../device";
import { Icon, type IconName } from "../ui/Icon";
import { Toggle } from "../ui/Toggle";
import { useShortcut } from "./useShortcut";

/** The panel beside the stage; one at a time. */
export type PanelName = "chat" | "people" | "settings";

interface ControlsProps {
  panel: PanelName | undefined;
  unread: number;
  onPanel: (panel: PanelName | undefined) => void;
  onTrouble: (words: string) => void;
}

/** The bar everything is done from. */
export function Controls({ panel, unread, onPanel, onTrouble }: ControlsProps) {
  const room = useRoomContext();
  const panelProps = (name: PanelName) => ({
    open: panel === name,
    onToggle: () => onPanel(panel === name ? undefined : name),
  });
  return (
    <footer className="controls" role="toolbar" aria-label="Meeting controls">
      <SourceToggle source={Track.Source.Microphone} shortcut="m" onTrouble={onTrouble} />
      <SourceToggle source={Track.Source.Camera} shortcut="v" onTrouble={onTrouble} />
      <ScreenToggle onTrouble={onTrouble} />
      <span className="controls-gap" />
      <PanelToggle icon="chat" label="Chat" badge={unread} {...panelProps("chat")} />
      <PanelToggle icon="people" label="People" wide {...panelProps("people")} />
      <PanelToggle icon="settings" label="Settings" {...panelProps("settings")} />
      <span className="controls-gap" />
      <button type="button" className="control control-leave" onClick={() => room.disconnect()}>
        <Icon name="leave" />
        <span>Leave</span>
      </button>
    </footer>
  );
}

type Captured = Track.Source.Microphone | Track.Source.Camera;

const CAPTURED: Record<Captured, { device: Device; label: string; icons: [IconName, IconName] }> = {
  [Track.Source.Microphone]: { device: "microphone", label: "Microphone", icons: ["microphone", "microphone-off"] },
  [Track.Source.Camera]: { device: "camera", label: "Camera", icons: ["camera", "camera-off"] },
};

interface SourceToggleProps {
  source: Captured;
  shortcut: string;
  onTrouble: (words: string) => void;
}

function SourceToggle({ source, shortcut, onTrouble }: SourceToggleProps) {
  const { device, label, icons } = CAPTURED[source];
  const { toggle, enabled, pending } = useTrackToggle({ source });
  const flip = () => {
    toggle().catch((error: unknown) => onTrouble(deviceTrouble(device, error)));
  };
  useShortcut(shortcut, flip);
  return <Toggle on={enabled} icons={icons} label={label} shortcut={shortcut} disabled={pending} onClick={flip} />;
}

function ScreenToggle({ onTrouble }: { onTrouble: (words: string) => void }) {
  const { toggle, enabled, pending } = useTrackToggle({
    source: Track.Source.ScreenShare,
    captureOptions: { audio: true, selfBrowserSurface: "include" },
  });
  // Phones have no screen to give.
  if (!navigator.mediaDevices || !("getDisplayMedia" in navigator.mediaDevices)) return null;
  const flip = () => {
    toggle().catch((error: unknown) => onTrouble(deviceTrouble("screen", error)));
  };
  return (
    <button
      type="button"
      className={enabled ? "control control-live" : "control"}
      aria-label="Share screen"
      aria-pressed={enabled}
      title={enabled ? "Stop sharing your screen" : "Share your screen"}
      disabled={pending}
      onClick={flip}
    >
      <Icon name="screen" />
    </button>
  );
}

interface PanelToggleProps {
  icon: IconName;
  label: string;
  open: boolean;
  badge?: number;
  /** Left out on narrow screens, where the same panel is reached from the top bar. */
  wide?: boolean;
  onToggle: () => void;
}

function PanelToggle({ icon, label, open, badge = 0, wide = false, onToggle }: PanelToggleProps) {
  return (
    <button
      type="button"
      className={`control${open ? " control-open" : ""}${wide ? " control-wide" : ""}`}
      aria-label={badge > 0 ? `${label}, ${badge} unread` : label}
      aria-expanded={open}
      title={label}
      onClick={onToggle}
    >
      <Icon name={icon} />
      {badge > 0 && <span className="badge">{badge > 9 ? "9+" : badge}</span>}
    </button>
  );
}
