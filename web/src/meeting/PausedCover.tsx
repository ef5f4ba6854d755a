import { Avatar } from "../ui/Avatar";
import { Icon } from "../ui/Icon";

/** Stands before a picture that the server holds back: calm, where the last frame would look like a person frozen. */
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
