import { useCallback, useEffect, useRef, useState } from "react";
import type { Choices } from "../choices";
import { type Device, deviceTrouble } from "../device";

/** One device as the lobby shows it. */
export interface Capture {
  stream: MediaStream | undefined;
  trouble: string | undefined;
}

export interface PreviewState {
  camera: Capture;
  microphone: Capture;
  devices: MediaDeviceInfo[];
  /** Releases both devices, so that the meeting can open them afresh. */
  stop: () => void;
}

/** Opens the camera and microphone a person chose, for as long as the lobby is on screen. */
export function usePreview(choices: Choices): PreviewState {
  const camera = useCapture("camera", choices.camera, choices.cameraId);
  const microphone = useCapture("microphone", choices.microphone, choices.microphoneId);
  const devices = useDevices(camera.stream, microphone.stream);
  const streams = useRef<(MediaStream | undefined)[]>([]);
  streams.current = [camera.stream, microphone.stream];
  const stop = useCallback(() => streams.current.forEach(release), []);
  return { camera, microphone, devices, stop };
}

function useCapture(device: Device, on: boolean, id: string): Capture {
  const [capture, setCapture] = useState<Capture>({ stream: undefined, trouble: undefined });

  useEffect(() => {
    setCapture({ stream: undefined, trouble: undefined });
    if (!on) return;
    let wanted = true;
    let opened: MediaStream | undefined;
    open(device, id).then(
      (stream) => {
        opened = stream;
        // The person may have switched the device off while the browser was still asking.
        if (wanted) setCapture({ stream, trouble: undefined });
        else release(stream);
      },
      (error: unknown) => wanted && setCapture({ stream: undefined, trouble: deviceTrouble(device, error) }),
    );
    return () => {
      wanted = false;
      release(opened);
    };
  }, [device, on, id]);

  return capture;
}

async function open(device: Device, id: string): Promise<MediaStream> {
  // Not `exact`: a remembered device that is gone is replaced by the default one.
  const from = id ? { deviceId: { ideal: id } } : {};
  return navigator.mediaDevices.getUserMedia(
    device === "camera" ? { video: { ...from, width: { ideal: 1280 }, height: { ideal: 720 } } } : { audio: from },
  );
}

/**
 * The list of devices. Browsers give their names only once one of them was opened, hence the
 * arguments.
 */
function useDevices(...opened: (MediaStream | undefined)[]): MediaDeviceInfo[] {
  const [devices, setDevices] = useState<MediaDeviceInfo[]>([]);
  const [first, second] = opened;
  // biome-ignore lint/correctness/useExhaustiveDependencies: streams change the list's names
  useEffect(() => {
    const media = navigator.mediaDevices;
    if (!media) return;
    const list = () => media.enumerateDevices().then(setDevices, () => setDevices([]));
    void list();
    media.addEventListener("devicechange", list);
    return () => media.removeEventListener("devicechange", list);
  }, [first, second]);
  return devices;
}

function release(stream: MediaStream | undefined): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
}
