import { useEffect, useMemo, useState } from "react";
import { useShortcut } from "../useShortcut";
import type { OpenPanels } from "./openPanels";

/**
 * The tiles that show their quality. `q` opens all of `tiles`, or closes what is open; Escape
 * closes.
 */
export function useOpenPanels(tiles: string[]): OpenPanels {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set());
  useShortcut("q", () => setOpen((current) => new Set(current.size > 0 ? [] : tiles)));
  useEffect(() => {
    if (open.size === 0) return;
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && setOpen(new Set());
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [open]);
  return useMemo(() => {
    const toggle = (tile: string) =>
      setOpen((current) => {
        const next = new Set(current);
        if (!next.delete(tile)) next.add(tile);
        return next;
      });
    return { open, toggle };
  }, [open]);
}
