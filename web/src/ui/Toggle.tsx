import { Icon, type IconName } from "./Icon";

interface ToggleProps {
  on: boolean;
  /** The icon when on, and when off. */
  icons: [IconName, IconName];
  label: string;
  disabled?: boolean;
  shortcut?: string;
  onClick: () => void;
}

/**
 * A round switch. Its name stays the same and `aria-pressed` has its state, as screen readers
 * expect of switches.
 */
export function Toggle({ on, icons, label, disabled = false, shortcut, onClick }: ToggleProps) {
  const hint = `${label} ${on ? "is on" : "is off"}${shortcut ? ` (${shortcut.toUpperCase()})` : ""}`;
  return (
    <button
      type="button"
      className={on ? "control" : "control control-off"}
      aria-label={label}
      aria-pressed={on}
      aria-keyshortcuts={shortcut}
      title={hint}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={on ? icons[0] : icons[1]} />
    </button>
  );
}
