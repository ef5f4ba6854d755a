import { Avatar } from "../ui/Avatar";
import { Icon } from "../ui/Icon";

/** Covers a video that the server pauses, so that the last frame does not look frozen. */
export function PausedCover({ name }: { name: string }) {
  return (
    <div className="tile-paused">
      <Avatar name={name} />
      <p className="tile-paused-words" role="status">
        <Icon name="pause" size={15} />
        Picture paused
      </p>
      <p className="tile-paused-why">Your connection is too slow for it now. It comes back by itself.</p>
    </div>
  );
}
