import type { ReceivedChatMessage } from "@livekit/components-react";
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Icon } from "../ui/Icon";
import { Linked } from "../ui/Linked";
import { Panel } from "./Panel";
import { nameOf } from "./person";

interface ChatPanelProps {
  messages: ReceivedChatMessage[];
  sending: boolean;
  onSend: (message: string) => Promise<unknown>;
  onTrouble: (words: string) => void;
  onClose: () => void;
}

/** Messages to everybody since this participant joined. */
export function ChatPanel({ messages, sending, onSend, onTrouble, onClose }: ChatPanelProps) {
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new message is what moves the list.
  useEffect(() => {
    void end.current?.scrollIntoView({ block: "end" });
  }, [messages.length]);
  return (
    <Panel title="Chat" onClose={onClose}>
      <div className="messages" role="log" aria-label="Messages">
        {messages.length === 0 && <p className="empty">Messages go to everybody in the room, and are not kept.</p>}
        {messages.map((message, index) => (
          <Message key={message.id} message={message} follows={isFollowing(messages[index - 1], message)} />
        ))}
        <div ref={end} />
      </div>
      <Composer sending={sending} onSend={onSend} onTrouble={onTrouble} />
    </Panel>
  );
}

const FOLLOWING_MS = 120_000;

/** Whether a message continues the previous one of the same person, so that it needs no name. */
function isFollowing(before: ReceivedChatMessage | undefined, message: ReceivedChatMessage): boolean {
  return (
    before !== undefined &&
    before.from?.identity === message.from?.identity &&
    message.timestamp - before.timestamp < FOLLOWING_MS
  );
}

function Message({ message, follows }: { message: ReceivedChatMessage; follows: boolean }) {
  const own = message.from?.isLocal ?? false;
  return (
    <div className={own ? "message message-own" : "message"}>
      {!follows && (
        <p className="message-head">
          <strong>{own ? "You" : message.from ? nameOf(message.from) : "Somebody"}</strong>
          <time>{new Date(message.timestamp).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}</time>
        </p>
      )}
      <p className="message-text">
        <Linked text={message.message} />
      </p>
    </div>
  );
}

function Composer({ sending, onSend, onTrouble }: Pick<ChatPanelProps, "sending" | "onSend" | "onTrouble">) {
  const [draft, setDraft] = useState("");
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    const message = draft.trim();
    if (!message || sending) return;
    setDraft("");
    try {
      await onSend(message);
    } catch {
      // Restore the draft, which was not sent.
      setDraft(message);
      onTrouble("Your message was not sent. Try again.");
    }
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void submit();
    }
  };
  return (
    <form className="composer" onSubmit={submit}>
      <textarea
        aria-label="Message"
        placeholder="Write to everybody"
        rows={1}
        maxLength={4000}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKey}
        // biome-ignore lint/a11y/noAutofocus: the chat was opened in order to write.
        autoFocus
      />
      <button type="submit" className="icon-button send" aria-label="Send" disabled={draft.trim() === ""}>
        <Icon name="send" size={18} />
      </button>
    </form>
  );
}
