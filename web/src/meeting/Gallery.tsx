import { type TrackReferenceOrPlaceholder, usePagination } from "@livekit/components-react";
import { useRef } from "react";
import { Icon } from "../ui/Icon";
import { bestGrid } from "./grid";
import { Tile } from "./Tile";
import { keyOf } from "./tileKey";
import { useSize } from "./useSize";

interface GalleryProps {
  people: TrackReferenceOrPlaceholder[];
  onPin: (reference: TrackReferenceOrPlaceholder) => void;
}

const NARROW_PX = 600;

/**
 * Everybody, as large as the space allows. Further people are on further pages; speakers move to
 * the front.
 */
export function Gallery({ people, onPin }: GalleryProps) {
  const box = useRef<HTMLDivElement>(null);
  const size = useSize(box);
  const perPage = size.width < NARROW_PX ? 8 : 16;
  const page = usePagination(perPage, people);
  const grid = bestGrid(page.tracks.length, size);

  return (
    <section className="gallery" aria-label="People in the meeting">
      <div className="gallery-tiles" ref={box}>
        {page.tracks.map((reference) => (
          <Tile
            key={keyOf(reference)}
            reference={reference}
            size={grid}
            pin={people.length > 1 ? { pinned: false, toggle: () => onPin(reference) } : undefined}
          />
        ))}
      </div>
      {page.totalPageCount > 1 && (
        <nav className="pages" aria-label="Pages of people">
          <button type="button" className="pill" onClick={page.prevPage} disabled={page.currentPage === 1}>
            <Icon name="left" size={16} />
            <span className="unseen">Earlier people</span>
          </button>
          <span>
            {page.currentPage} of {page.totalPageCount}
          </span>
          <button
            type="button"
            className="pill"
            onClick={page.nextPage}
            disabled={page.currentPage === page.totalPageCount}
          >
            <Icon name="right" size={16} />
            <span className="unseen">Further people</span>
          </button>
        </nav>
      )}
    </section>
  );
}
