import { useCallback, useRef, useState } from "react";

interface Notice {
  id: number;
  words: string;
}

const SHOWN_MS = 6000;
const SHOWN_MAX = 4;

/** Short-lived messages, newest last. */
export function useNotices() {
  const [notices, setNotices] = useState<Notice[]>([]);
  const next = useRef(0);
  const notify = useCallback((words: string) => {
    const id = next.current++;
    setNotices((shown) => [...shown, { id, words }].slice(-SHOWN_MAX));
    setTimeout(() => setNotices((shown) => shown.filter((notice) => notice.id !== id)), SHOWN_MS);
  }, []);
  return { notices, notify };
}

export function Notices({ notices }: { notices: Notice[] }) {
  return (
    <output className="notices" aria-live="polite">
      {notices.map((notice) => (
        <span key={notice.id} className="notice">
          {notice.words}
        </span>
      ))}
    </output>
  );
}
