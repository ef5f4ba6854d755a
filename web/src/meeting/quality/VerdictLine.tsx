import type { Verdict } from "./words";

/** The verdict in words. Its mood sets its colour. */
export function VerdictLine({ mood, words }: Verdict) {
  return (
    <p className="quality-verdict" data-mood={mood}>
      {words}
    </p>
  );
}
