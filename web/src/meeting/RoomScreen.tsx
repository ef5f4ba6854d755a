import { useChat } from "@livekit/components-react";
import { useEffect, useState } from "react";
import { Banners } from "./Banners";
import { ChatPanel } from "./ChatPanel";
import { Controls, type PanelName } from "./Controls";
import { PeoplePanel } from "./PeoplePanel";
import { SettingsPanel } from "./SettingsPanel";
import { Stage } from "./Stage";
import { TopBar } from "./TopBar";
import { useComings } from "./useComings";
import { useUnread } from "./useUnread";

/** The meeting as it looks once you are in it. */
export function RoomScreen({ roomName, onNotice }: { roomName: string; onNotice: (words: string) => void }) {
  const [panel, setPanel] = useState<PanelName>();
  const { chatMessages, send, isSending } = useChat();
  const unread = useUnread(chatMessages.length, panel === "chat");
  useComings(onNotice);

  const close = () => setPanel(undefined);
  useEffect(() => {
    if (!panel) return;
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && setPanel(undefined);
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [panel]);

  return (
    <div className="meeting" data-panel={panel}>
      <TopBar roomName={roomName} onPeople={() => setPanel((open) => (open === "people" ? undefined : "people"))} />
      <Banners />
      <Stage />
      {panel === "chat" && (
        <ChatPanel messages={chatMessages} sending={isSending} onSend={send} onTrouble={onNotice} onClose={close} />
      )}
      {panel === "people" && <PeoplePanel onClose={close} />}
      {panel === "settings" && <SettingsPanel onTrouble={onNotice} onClose={close} />}
      <Controls panel={panel} unread={unread} onPanel={setPanel} onTrouble={onNotice} />
    </div>
  );
}
