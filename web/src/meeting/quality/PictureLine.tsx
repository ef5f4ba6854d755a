import { sizeWords } from "./words";

interface PictureLineProps {
  width: number;
  height: number;
  fps: number;
  codec: string;
}

/** The video in one line. */
export function PictureLine({ width, height, fps, codec }: PictureLineProps) {
  return (
    <p className="quality-head">
      <strong>{sizeWords({ width, height })}</strong>
      <span>{Math.round(fps)} fps</span>
      <span>{codec}</span>
    </p>
  );
}
