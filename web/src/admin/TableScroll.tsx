import type { ReactNode } from "react";

/** A table that scrolls sideways where the screen is narrow, by touch and by keys. */
export function TableScroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it
    <section className="admin-scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
