/** A person without video: their initials on a colour that is always the same for them. */
export function Avatar({ name, small = false }: { name: string; small?: boolean }) {
  return (
    <span
      className={small ? "avatar avatar-small" : "avatar"}
      style={{ "--hue": hueOf(name) } as React.CSSProperties}
      aria-hidden="true"
    >
      {initialsOf(name)}
    </span>
  );
}

function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/).filter(Boolean);
  const letters = words.length > 1 ? [words[0], words[words.length - 1]] : [words[0]];
  return letters.map((word) => [...(word ?? "?")][0]?.toUpperCase() ?? "?").join("");
}

/**
 * Spreads names over the blues, greens and violets: the palette has no place for warning colours on
 * people.
 */
function hueOf(name: string): number {
  let hash = 0;
  for (const char of name) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 9973;
  return 150 + (hash % 130);
}
