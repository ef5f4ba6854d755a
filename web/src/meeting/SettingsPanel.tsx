import { useMediaDeviceSelect } from "@livekit/components-react";
import { deviceTrouble } from "../device";
import { DeviceSelect } from "../ui/DeviceSelect";
import { Panel } from "./Panel";

interface SettingsPanelProps {
  onTrouble: (words: string) => void;
  onClose: () => void;
}

/** Which devices this meeting uses. */
export function SettingsPanel({ onTrouble, onClose }: SettingsPanelProps) {
  return (
    <Panel title="Settings" onClose={onClose}>
      <div className="settings">
        <Device label="Microphone" kind="audioinput" onTrouble={onTrouble} />
        <Device label="Camera" kind="videoinput" onTrouble={onTrouble} />
        <Device label="Speaker" kind="audiooutput" onTrouble={onTrouble} />
        <dl className="keys">
          <div>
            <dt>
              <kbd>M</kbd>
            </dt>
            <dd>microphone on or off</dd>
          </div>
          <div>
            <dt>
              <kbd>V</kbd>
            </dt>
            <dd>camera on or off</dd>
          </div>
          <div>
            <dt>
              <kbd>Q</kbd>
            </dt>
            <dd>quality of every picture</dd>
          </div>
          <div>
            <dt>
              <kbd>Esc</kbd>
            </dt>
            <dd>close what is open</dd>
          </div>
        </dl>
      </div>
    </Panel>
  );
}

interface DeviceProps {
  label: string;
  kind: MediaDeviceKind;
  onTrouble: (words: string) => void;
}

function Device({ label, kind, onTrouble }: DeviceProps) {
  const { devices, activeDeviceId, setActiveMediaDevice } = useMediaDeviceSelect({ kind });
  const choose = (id: string) => {
    setActiveMediaDevice(id).catch((error: unknown) =>
      onTrouble(
        kind === "audiooutput"
          ? "This speaker could not be used."
          : deviceTrouble(kind === "videoinput" ? "camera" : "microphone", error),
      ),
    );
  };
  return <DeviceSelect label={label} kind={kind} devices={devices} value={activeDeviceId} onChange={choose} />;
}
