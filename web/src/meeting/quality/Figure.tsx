import type { ReactNode } from "react";

/** One number with its name above it. */
export function Figure({
  name,
  alarming = false,
  children,
}: {
  name: string;
  alarming?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={alarming ? "figure figure-alarming" : "figure"}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
