import type { TrackReferenceOrPlaceholder } from "@livekit/components-react";
import { Tile } from "./Tile";
import { keyOf } from "./tileKey";

interface FocusViewProps {
  focus: TrackReferenceOrPlaceholder;
  others: TrackReferenceOrPlaceholder[];
  isPinned: boolean;
  onPin: (reference: TrackReferenceOrPlaceholder) => void;
}

/** One video large, the others in a strip beside it (below it on narrow screens). */
export function FocusView({ focus, others, isPinned, onPin }: FocusViewProps) {
  return (
    <div className="focus">
      <div className="focus-main">
        <Tile
          key={keyOf(focus)}
          reference={focus}
          pin={isPinned ? { pinned: true, toggle: () => onPin(focus) } : undefined}
        />
      </div>
      <div className="strip">
        {others.map((reference) => (
          <Tile key={keyOf(reference)} reference={reference} pin={{ pinned: false, toggle: () => onPin(reference) }} />
        ))}
      </div>
    </div>
  );
}
