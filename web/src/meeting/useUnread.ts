import { useEffect, useState } from "react";

/** The number of messages since the chat was last open. */
export function useUnread(total: number, looking: boolean): number {
  const [seen, setSeen] = useState(0);
  useEffect(() => {
    if (looking) setSeen(total);
  }, [looking, total]);
  return looking ? 0 : Math.max(0, total - seen);
}
