const WEB_ADDRESS = /(https?:\/\/[^\s<>"']+)/g;

/** Text with its web addresses made into links. Everything else stays text. */
export function Linked({ text }: { text: string }) {
  return text.split(WEB_ADDRESS).map((part, index) =>
    // Splitting by a pattern with one group leaves what matched at the odd places.
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
      <a key={index} href={part} target="_blank" rel="noopener noreferrer">
        {part}
      </a>
    ) : (
      part
    ),
  );
}
