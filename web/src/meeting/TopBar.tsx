import { useParticipants } from "@livekit/components-react";
import { useState } from "react";
import { invitationLink } from "../invitation";
import { Icon } from "../ui/Icon";
import { Mark } from "../ui/Mark";

/** The room's name, the number of participants, and a button to invite another. */
export function TopBar({ roomName, onPeople }: { roomName: string; onPeople: () => void }) {
  const count = useParticipants().length;
  return (
    <header className="topbar">
      <Mark size={26} />
      <h1>{roomName}</h1>
      <button type="button" className="pill" onClick={onPeople} aria-label={peopleWords(count)} title="Show people">
        <Icon name="people" size={17} />
        <span data-testid="count">{count}</span>
      </button>
      <InviteButton roomName={roomName} />
    </header>
  );
}

function peopleWords(count: number): string {
  return count === 1 ? "1 person here" : `${count} people here`;
}

const COPIED_MS = 2500;

function InviteButton({ roomName }: { roomName: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    const link = invitationLink(roomName);
    try {
      await navigator.clipboard.writeText(link);
      setCopied(true);
      setTimeout(() => setCopied(false), COPIED_MS);
    } catch {
      // Without the right to write to the clipboard, show the link where it can be copied by hand.
      window.prompt("Send this link to invite somebody:", link);
    }
  };
  return (
    <button type="button" className="pill invite" onClick={copy}>
      <Icon name={copied ? "check" : "link"} size={17} />
      <span aria-live="polite">{copied ? "Link copied" : "Copy invite link"}</span>
    </button>
  );
}
