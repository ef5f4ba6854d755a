/** A capturing device, by the name people use for it. */
export type Device = "camera" | "microphone" | "screen";

/** Plain words for a failure of a device. Browsers report this as the `name` of a DOMException. */
export function deviceTrouble(device: Device, error: unknown): string {
  const name = error instanceof Error ? error.name : "";
  switch (name) {
    case "NotAllowedError":
    case "SecurityError":
      return device === "screen"
        ? "Nothing was shared: the browser did not get permission."
        : `Your browser is not allowed to use the ${device}. Allow it in the address bar, then switch it on again.`;
    case "NotFoundError":
    case "OverconstrainedError":
      return `No ${device} was found. Plug one in, or choose another.`;
    case "NotReadableError":
    case "AbortError":
      return `The ${device} is in use by another program, or did not start.`;
    default:
      return navigator.mediaDevices
        ? `The ${device} did not start.`
        : `Browsers give out the ${device} only on https or localhost.`;
  }
}
