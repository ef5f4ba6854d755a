import { useEffect, useRef } from "react";
import type { Ending } from "../ending";
import { Wordmark } from "../ui/Mark";

/** The page after a meeting: the ending, and a way back. */
export function After({ room, ending, onRejoin }: { room: string; ending: Ending; onRejoin: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // The screen changed under the reader: put them, and their screen reader, at its beginning.
  useEffect(() => {
    heading.current?.focus();
  }, []);

  return (
    <main className="after">
      <Wordmark />
      <section className={`card after-card tone-${ending.tone}`}>
        <svg className="after-wave" viewBox="0 0 240 24" fill="none" aria-hidden="true">
          <path d="M0 12c20-14 40-14 60 0s40 14 60 0 40-14 60 0 40 14 60 0" />
        </svg>
        <h1 ref={heading} tabIndex={-1}>
          {ending.title}
        </h1>
        <p>{ending.detail}</p>
        {ending.again && (
          <button type="button" className="button primary" onClick={onRejoin}>
            {ending.again}
          </button>
        )}
        <p className="quiet">
          Room <strong>{room}</strong>
        </p>
      </section>
    </main>
  );
}
