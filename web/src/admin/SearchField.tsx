import { useEffect, useRef, useState } from "react";

/** The time without a key after which the text is searched for, in milliseconds. */
const PAUSE = 250;

interface Properties {
  label: string;
  onSearch(search: string): void;
}

/** A field that reports its text a moment after the last key. */
export function SearchField({ label, onSearch }: Properties) {
  const [text, setText] = useState("");
  const report = useRef(onSearch);
  report.current = onSearch;
  useEffect(() => {
    const timer = window.setTimeout(() => report.current(text.trim()), PAUSE);
    return () => window.clearTimeout(timer);
  }, [text]);
  return (
    <label className="field admin-search">
      {label}
      <input type="search" maxLength={80} value={text} onChange={(event) => setText(event.target.value)} />
    </label>
  );
}
