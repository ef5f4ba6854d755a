import type { ReactNode } from "react";

const shapes = {
  microphone: (
    <>
      <rect x="9" y="3" width="6" height="11" rx="3" />
      <path d="M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3" />
    </>
  ),
  "microphone-off": (
    <>
      <path d="M15 10V6a3 3 0 0 0-5.8-1M9 9v2a3 3 0 0 0 4.6 2.5M5.5 11.5a6.5 6.5 0 0 0 10.3 5.3M18 14a6.4 6.4 0 0 0 .5-2.5M12 18v3M4 3l16 18" />
    </>
  ),
  camera: (
    <>
      <rect x="2.5" y="6" width="13" height="12" rx="3" />
      <path d="m15.5 11 5.2-3.2v8.4L15.5 13" />
    </>
  ),
  "camera-off": (
    <path d="M10 6h2.5a3 3 0 0 1 3 3v2l5.2-3.2v8.4M15.5 15.5a3 3 0 0 1-3 2.5h-7a3 3 0 0 1-3-3V9a3 3 0 0 1 2.2-2.9M4 3l16 18" />
  ),
  screen: (
    <>
      <rect x="2.5" y="4" width="19" height="13" rx="2.5" />
      <path d="M8 21h8M12 13.5v-6m-2.7 2.6L12 7.4l2.7 2.7" />
    </>
  ),
  chat: (
    <path d="M20.5 11.5c0 4.1-3.8 7.5-8.5 7.5-1.2 0-2.3-.2-3.3-.6L4 20l1.2-3.8c-1.1-1.3-1.7-2.9-1.7-4.7C3.5 7.4 7.3 4 12 4s8.5 3.4 8.5 7.5Z" />
  ),
  people: (
    <>
      <circle cx="9" cy="8.5" r="3.5" />
      <path d="M2.5 19.5c.5-3.6 3.2-5.5 6.5-5.5s6 1.9 6.5 5.5M15.5 5.2a3.5 3.5 0 0 1 0 6.6M18 14.5c2 .7 3.2 2.4 3.5 5" />
    </>
  ),
  settings: (
    <>
      <path d="M4 7h9M18.5 7H20M4 17h2M11.5 17H20" />
      <circle cx="15.7" cy="7" r="2.6" />
      <circle cx="8.7" cy="17" r="2.6" />
    </>
  ),
  leave: (
    <path d="M4.6 15.6 3.2 13c-.5-.9-.3-2 .5-2.7 4.7-4 11.9-4 16.6 0 .8.7 1 1.8.5 2.7l-1.4 2.6c-.4.8-1.4 1.2-2.3.9l-2.2-.8c-.8-.3-1.3-1-1.3-1.8v-1.3a10 10 0 0 0-3.2 0v1.3c0 .8-.5 1.5-1.3 1.8l-2.2.8c-.9.3-1.9-.1-2.3-.9Z" />
  ),
  link: (
    <path d="M10 14a4.2 4.2 0 0 0 6 0l3.2-3.2a4.2 4.2 0 0 0-6-6L12 6M14 10a4.2 4.2 0 0 0-6 0l-3.2 3.2a4.2 4.2 0 0 0 6 6L12 18" />
  ),
  close: <path d="m6 6 12 12M18 6 6 18" />,
  send: <path d="M4.5 12 3.5 5l17 7-17 7 1-7Zm0 0h7" />,
  pin: <path d="M9 3.5h6l-.8 6 3.3 3.5h-11l3.3-3.5-.8-6ZM12 13v7.5" />,
  check: <path d="m5 12.5 4.5 4.5L19 7.5" />,
  sound: <path d="M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4ZM15.5 9a4.2 4.2 0 0 1 0 6M18 6.5a7.8 7.8 0 0 1 0 11" />,
  weak: <path d="M5 19v-3M10 19v-6M15 19v-9" />,
  quality: <path d="M3 12.5h3.6L9.8 5l4.6 14 2.9-6.5H21" />,
  pause: <path strokeWidth="3" d="M8.5 6v12M15.5 6v12" />,
  left: <path d="m14.5 5-7 7 7 7" />,
  right: <path d="m9.5 5 7 7-7 7" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof shapes;

/**
 * A line icon in the colour of the text around it. Decorative: the control it sits in carries the
 * words.
 */
export function Icon({ name, size = 22 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {shapes[name]}
    </svg>
  );
}
