import { lazy, Suspense, useCallback, useState } from "react";
import type { Pass } from "./access";
import { After } from "./after/After";
import { type Choices, loadChoices, saveChoices } from "./choices";
import type { Ending } from "./ending";
import { readInvitation } from "./invitation";
import { Lobby } from "./lobby/Lobby";
import { Splash } from "./ui/Splash";

const loadMeeting = () => import("./meeting/Meeting");
const Meeting = lazy(() => loadMeeting().then((module) => ({ default: module.Meeting })));

/** The screen: before the meeting, in it, or after it. */
type Place = { at: "lobby" } | { at: "meeting"; pass: Pass; choices: Choices } | { at: "after"; ending: Ending };

/** The whole page. It holds only the current screen; each screen is a component of its own. */
export function App() {
  const [invitation] = useState(() => readInvitation(window.location));
  const [choices, setChoices] = useState(loadChoices);
  const [place, setPlace] = useState<Place>({ at: "lobby" });

  const join = useCallback((pass: Pass, chosen: Choices) => {
    saveChoices(chosen);
    setChoices(chosen);
    setPlace({ at: "meeting", pass, choices: chosen });
  }, []);
  const end = useCallback((ending: Ending) => setPlace({ at: "after", ending }), []);
  const toLobby = useCallback(() => setPlace({ at: "lobby" }), []);

  switch (place.at) {
    case "lobby":
      return <Lobby invitation={invitation} choices={choices} onJoin={join} onReady={loadMeeting} />;
    case "meeting":
      return (
        <Suspense fallback={<Splash words="Opening the meeting" />}>
          <Meeting room={invitation.room} pass={place.pass} choices={place.choices} onEnd={end} />
        </Suspense>
      );
    case "after":
      return <After room={invitation.room} ending={place.ending} onRejoin={toLobby} />;
  }
}
