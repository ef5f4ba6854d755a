import { type TrackReferenceOrPlaceholder, useTracks } from "@livekit/components-react";
import { Track } from "livekit-client";
import { useMemo, useState } from "react";
import { FocusView } from "./FocusView";
import { Gallery } from "./Gallery";
import { OpenPanelsContext } from "./quality/openPanels";
import { useOpenPanels } from "./quality/useOpenPanels";
import { keyOf } from "./tileKey";

/** The videos: a gallery of everybody, or one of them large with the others beside it. */
export function Stage() {
  const people = useTracks([{ source: Track.Source.Camera, withPlaceholder: true }]);
  const screens = useTracks([Track.Source.ScreenShare]);
  const [pinned, setPinned] = useState<string>();

  const everything = useMemo<TrackReferenceOrPlaceholder[]>(() => [...screens, ...people], [screens, people]);
  // The newest shared screen takes the large place by itself; a pin overrides it and goes with its
  // owner.
  const focus = everything.find((reference) => keyOf(reference) === pinned) ?? screens[screens.length - 1];
  const pin = (reference: TrackReferenceOrPlaceholder) =>
    setPinned((current) => (current === keyOf(reference) ? undefined : keyOf(reference)));

  const panels = useOpenPanels(everything.map(keyOf));

  return (
    <main className="stage">
      <OpenPanelsContext.Provider value={panels}>
        {focus ? (
          <FocusView
            focus={focus}
            others={everything.filter((reference) => keyOf(reference) !== keyOf(focus))}
            isPinned={keyOf(focus) === pinned}
            onPin={pin}
          />
        ) : (
          <Gallery people={people} onPin={pin} />
        )}
      </OpenPanelsContext.Provider>
    </main>
  );
}
