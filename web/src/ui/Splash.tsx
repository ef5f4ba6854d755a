import { Mark } from "./Mark";

/** A quiet full screen for the moments in which something is on its way. */
export function Splash({ words }: { words: string }) {
  return (
    <main className="splash" aria-busy="true">
      <Mark size={56} />
      <p role="status">{words}…</p>
    </main>
  );
}
