import { useEffect, useRef } from "react";

/** Calls `action` on a single key, unless the person is writing or holds a modifier. */
export function useShortcut(key: string, action: () => void): void {
  const latest = useRef(action);
  latest.current = action;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== key || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isWriting(event.target)) return;
      latest.current();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [key]);
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
