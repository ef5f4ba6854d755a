import { useEffect, useRef } from "react";
import type { Choices } from "../choices";
import { Avatar } from "../ui/Avatar";
import { DeviceSelect } from "../ui/DeviceSelect";
import { Toggle } from "../ui/Toggle";
import { Level } from "./Level";
import type { PreviewState } from "./usePreview";

interface PreviewProps {
  preview: PreviewState;
  choices: Choices;
  onChange: (some: Partial<Choices>) => void;
}

/** How others will see and hear you, and the switches for both. */
export function Preview({ preview, choices, onChange }: PreviewProps) {
  const { camera, microphone, devices } = preview;
  const trouble = camera.trouble ?? microphone.trouble;
  return (
    <section className="preview" aria-label="Camera and microphone">
      <div className="preview-frame">
        {camera.stream ? <Mirror stream={camera.stream} /> : <Avatar name={choices.name || "?"} />}
        {microphone.stream && <Level stream={microphone.stream} />}
        <div className="preview-switches">
          <Toggle
            on={choices.microphone}
            icons={["microphone", "microphone-off"]}
            label="Microphone"
            onClick={() => onChange({ microphone: !choices.microphone })}
          />
          <Toggle
            on={choices.camera}
            icons={["camera", "camera-off"]}
            label="Camera"
            onClick={() => onChange({ camera: !choices.camera })}
          />
        </div>
      </div>
      {trouble && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
      <div className="preview-devices">
        <DeviceSelect
          label="Microphone"
          kind="audioinput"
          devices={devices}
          value={choices.microphoneId}
          onChange={(microphoneId) => onChange({ microphoneId })}
        />
        <DeviceSelect
          label="Camera"
          kind="videoinput"
          devices={devices}
          value={choices.cameraId}
          onChange={(cameraId) => onChange({ cameraId })}
        />
      </div>
    </section>
  );
}

/** The participant's own video, mirrored. */
function Mirror({ stream }: { stream: MediaStream }) {
  const video = useRef<HTMLVideoElement>(null);
  useEffect(() => {
    if (video.current) video.current.srcObject = stream;
  }, [stream]);
  return <video ref={video} className="mirrored" autoPlay playsInline muted />;
}
