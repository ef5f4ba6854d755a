import { counted } from "./words";

/** The number of entries on one page of a list. */
export const PAGE_LEN = 50;

/** The last place at which the server begins a page. */
const OFFSET_MAX = 10_000;

interface Properties {
  noun: string;
  plural: string;
  offset: number;
  total: number;
  onOffset(offset: number): void;
}

/** The place in a list, with the ways to the pages before and after. */
export function Pager({ noun, plural, offset, total, onOffset }: Properties) {
  const end = Math.min(offset + PAGE_LEN, total);
  const isLast = end >= total || offset + PAGE_LEN > OFFSET_MAX;
  return (
    <div className="admin-pager">
      <p role="status">
        {total > PAGE_LEN ? `${offset + 1} to ${end} of ` : ""}
        {counted(total, noun, plural)}
      </p>
      {total > PAGE_LEN && (
        <>
          <button
            type="button"
            className="admin-button"
            disabled={offset === 0}
            onClick={() => onOffset(Math.max(0, offset - PAGE_LEN))}
          >
            Previous page
          </button>
          <button type="button" className="admin-button" disabled={isLast} onClick={() => onOffset(offset + PAGE_LEN)}>
            Next page
          </button>
        </>
      )}
    </div>
  );
}
