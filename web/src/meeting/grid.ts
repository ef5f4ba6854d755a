/** A width and a height, in CSS pixels. */
export interface Size {
  width: number;
  height: number;
}

export const GAP_PX = 12;

// A video is cropped to its tile, never stretched, so a tile stays near a camera's shape: it is
// upright only on an upright screen.
const WIDEST = 16 / 9;
const NARROWEST_LYING = 4 / 3;
const NARROWEST_UPRIGHT = 3 / 4;

/**
 * The size at which `count` equal tiles fill the most of `space`. Tries every number of columns:
 * there are few.
 */
export function bestGrid(count: number, space: Size): Size {
  const narrowest = space.width > space.height ? NARROWEST_LYING : NARROWEST_UPRIGHT;
  let best: Size = { width: 0, height: 0 };
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const cell = {
      width: (space.width - GAP_PX * (columns - 1)) / columns,
      height: (space.height - GAP_PX * (rows - 1)) / rows,
    };
    const tile = fitTile(cell, narrowest);
    if (tile.width * tile.height > best.width * best.height) best = tile;
  }
  return best;
}

function fitTile(cell: Size, narrowest: number): Size {
  if (cell.width <= 0 || cell.height <= 0) return { width: 0, height: 0 };
  const ratio = Math.min(WIDEST, Math.max(narrowest, cell.width / cell.height));
  const width = Math.floor(Math.min(cell.width, cell.height * ratio));
  return { width, height: Math.floor(width / ratio) };
}
