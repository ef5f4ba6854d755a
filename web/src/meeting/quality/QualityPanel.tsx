import { isTrackReference, type TrackReferenceOrPlaceholder } from "@livekit/components-react";
import { ReceivedQuality } from "./ReceivedQuality";
import { SentQuality } from "./SentQuality";
import { useReading } from "./useReading";
import { VerdictLine } from "./VerdictLine";

interface QualityPanelProps {
  reference: TrackReferenceOrPlaceholder;
  name: string;
  paused: boolean;
}

/** Figures about one tile's video, and the reason that it is not better. */
export function QualityPanel({ reference, name, paused }: QualityPanelProps) {
  const track = isTrackReference(reference) ? reference.publication.track : undefined;
  const measured = useReading(track);
  return (
    // It may have to be scrolled in a small tile, and what can be scrolled must be reached by key.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
    <section className="quality" aria-label={`Quality: ${name}`} tabIndex={0}>
      {!track && <VerdictLine mood="quiet" words="There is no picture" />}
      {track && !measured && <VerdictLine mood="quiet" words="Measuring" />}
      {measured?.reading.kind === "received" && (
        <ReceivedQuality
          received={measured.reading}
          rates={measured.rates}
          trackSid={reference.publication?.trackSid}
          paused={paused}
        />
      )}
      {measured?.reading.kind === "sent" && <SentQuality sent={measured.reading} rates={measured.rates} />}
    </section>
  );
}
