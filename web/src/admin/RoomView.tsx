import { ActionButton } from "./ActionButton";
import { hashOf } from "./address";
import { type Api, pathOf } from "./api";
import { Name } from "./Name";
import { People } from "./People";
import { escaped } from "./words";

/** One room. */
export function RoomView({ api, room }: { api: Api; room: string }) {
  return (
    <section aria-labelledby="room">
      <div className="admin-title">
        <h1 id="room">
          <Name>{room}</Name>
        </h1>
        {api.bearer.may_close && (
          <ActionButton
            words="Close the room"
            question={`Close ${escaped(room)}? Everybody in it is disconnected.`}
            act={() => api.act("DELETE", pathOf(room))}
            onDone={() => {
              window.location.hash = hashOf({ at: "rooms" });
            }}
          />
        )}
      </div>
      <People api={api} room={room} />
    </section>
  );
}
