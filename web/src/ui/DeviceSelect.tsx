import { useId } from "react";

interface DeviceSelectProps {
  label: string;
  kind: MediaDeviceKind;
  devices: MediaDeviceInfo[];
  value: string;
  onChange: (deviceId: string) => void;
}

/** Chooses one of the machine's devices. Shows nothing without alternatives. */
export function DeviceSelect({ label, kind, devices, value, onChange }: DeviceSelectProps) {
  const id = useId();
  const choices = devices.filter((device) => device.kind === kind && device.deviceId !== "");
  if (choices.length === 0) return null;
  const current = choices.some((device) => device.deviceId === value) ? value : (choices[0]?.deviceId ?? "");
  return (
    <label className="field" htmlFor={id}>
      <span>{label}</span>
      <select id={id} value={current} onChange={(event) => onChange(event.target.value)}>
        {choices.map((device, index) => (
          <option key={device.deviceId} value={device.deviceId}>
            {device.label || `${label} ${index + 1}`}
          </option>
        ))}
      </select>
    </label>
  );
}
