import { createContext, useContext } from "react";

/** Which tiles show their quality. */
export interface OpenPanels {
  open: ReadonlySet<string>;
  toggle: (tile: string) => void;
}

export const OpenPanelsContext = createContext<OpenPanels>({ open: new Set(), toggle: () => {} });

/** Whether a tile shows its quality, and how to change that. */
export function useOpenPanel(tile: string): [boolean, () => void] {
  const { open, toggle } = useContext(OpenPanelsContext);
  return [open.has(tile), () => toggle(tile)];
}
