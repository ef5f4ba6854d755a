import type { Target } from "../operator";

/** Control characters, marks of writing direction, and others that are not seen. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A name with invisible characters written as `\u{202e}`, so that they are seen. */
export function escaped(name: string): string {
  return name.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** A time that has passed, in its largest two units. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (minutes === 0) return `${seconds} s`;
  if (hours === 0) return `${minutes} min ${seconds % 60} s`;
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A rate with its unit. */
export function rate(bitsPerSecond: number): string {
  if (bitsPerSecond >= 1e6) return `${(bitsPerSecond / 1e6).toFixed(1)} Mbit/s`;
  return `${Math.round(bitsPerSecond / 1e3)} kbit/s`;
}

/** The time of day of a moment, in this browser's zone. */
export function clock(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString([], { hour12: false });
}

/** The date and the time of a moment, in this browser's zone. */
export function moment(milliseconds: number): string {
  return new Date(milliseconds).toLocaleString([], { hour12: false });
}

/** A layer, as `encoding 2, temporal 1`. */
export function layer(target: Target | null): string {
  if (!target) return "none";
  const parts = [`encoding ${target.encoding}`];
  if (target.spatial !== null) parts.push(`spatial ${target.spatial}`);
  if (target.temporal !== null) parts.push(`temporal ${target.temporal}`);
  return parts.join(", ");
}

/** A name of several words in JSON, as people write it. */
export function spaced(name: string): string {
  return name.replaceAll("_", " ");
}

/** A count with its noun. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}
