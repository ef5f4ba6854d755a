import { useEffect, useState } from "react";
import { type Pass, passFromToken, readClaims, requestPass } from "../access";
import type { Choices } from "../choices";
import { forgetToken, type Invitation } from "../invitation";
import { Wordmark } from "../ui/Mark";
import { JoinForm } from "./JoinForm";
import { Preview } from "./Preview";
import { accessTrouble, claimsTrouble } from "./trouble";
import { usePreview } from "./usePreview";

interface LobbyProps {
  invitation: Invitation;
  choices: Choices;
  onJoin: (pass: Pass, choices: Choices) => void;
  /** Called once the lobby is on screen: a good moment to load the meeting. */
  onReady: () => void;
}

/** Before the meeting: a preview, the name, and a button to join. */
export function Lobby({ invitation, choices: remembered, onJoin, onReady }: LobbyProps) {
  const [choices, setChoices] = useState(remembered);
  const [token, setToken] = useState(invitation.token);
  const [asksForToken, setAsksForToken] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const preview = usePreview(choices);
  const change = (some: Partial<Choices>) => setChoices((all) => ({ ...all, ...some }));

  useEffect(() => {
    document.title = `${invitation.room} · Weir`;
    onReady();
  }, [invitation.room, onReady]);

  async function join() {
    setBusy(true);
    setTrouble(undefined);
    try {
      const pass = await passFor(invitation.room, choices.name, token);
      preview.stop();
      onJoin(pass, choices);
    } catch (error) {
      const words = accessTrouble(error);
      setAsksForToken((asked) => asked || words.asksForToken);
      if (words.asksForToken) {
        forgetToken();
        setToken(undefined);
      }
      setTrouble(words.text);
      setBusy(false);
    }
  }

  return (
    <main className="lobby">
      <header className="lobby-head">
        <Wordmark />
      </header>
      <div className="lobby-body">
        <Preview preview={preview} choices={choices} onChange={change} />
        <JoinForm
          room={invitation.room}
          name={choices.name}
          fixedName={token ? readClaims(token)?.name : undefined}
          asksForToken={asksForToken}
          busy={busy}
          trouble={trouble}
          onName={(name) => change({ name })}
          onToken={setToken}
          onSubmit={join}
        />
      </div>
      <footer className="lobby-foot">Media passes through this Weir server only, and is never decoded there.</footer>
    </main>
  );
}

/** A token in hand is used; without one a development server is asked. */
async function passFor(room: string, name: string, token: string | undefined): Promise<Pass> {
  if (!token) return requestPass(room, name.trim());
  const trouble = claimsTrouble(readClaims(token), room);
  if (trouble) throw trouble;
  return passFromToken(token);
}
