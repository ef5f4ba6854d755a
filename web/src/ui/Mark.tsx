/** Weir's mark: level water that steps down over a weir and flows on. */
export function Mark({ size = 32 }: { size?: number }) {
  return (
    <svg
      className="mark"
      width={size}
      height={size}
      viewBox="0 0 32 32"
      fill="none"
      strokeWidth="2.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path stroke="#7ee0d3" d="M3 10c2.3-2.4 4.7-2.4 7 0s4.7 2.4 7 0c3.5 0 3.5 12 7 12 1.8 0 3-.8 5-2" />
      <path stroke="#3fa9bf" d="M3 16.5c2.3-2.4 4.7-2.4 7 0 1.5 1.5 2.7 2 4 1.7" />
      <path stroke="#2c6f85" d="M3 23c2.3-2.4 4.7-2.4 7 0 2.2 2.3 4.3 2.4 6.5.4" />
    </svg>
  );
}

/** The mark with the name beside it. */
export function Wordmark() {
  return (
    <span className="wordmark">
      <Mark size={30} />
      <span>Weir</span>
    </span>
  );
}
