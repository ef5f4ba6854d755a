import { useConnectionState, useRoomContext, useStartAudio } from "@livekit/components-react";
import { ConnectionState } from "livekit-client";
import { Icon } from "../ui/Icon";

/**
 * Banners about the whole meeting: a connection being restored, or sound that the browser holds
 * back.
 */
export function Banners() {
  const room = useRoomContext();
  const state = useConnectionState();
  const { mergedProps, canPlayAudio } = useStartAudio({ room, props: {} });
  const reconnecting = state === ConnectionState.Reconnecting || state === ConnectionState.SignalReconnecting;
  if (!reconnecting && canPlayAudio) return null;
  return (
    <div className="banners">
      {reconnecting && (
        <p className="banner" role="status">
          <span className="spinner" aria-hidden="true" />
          The connection was interrupted. Coming back…
        </p>
      )}
      {!canPlayAudio && (
        <button type="button" className="banner banner-action" onClick={mergedProps.onClick}>
          <Icon name="sound" size={18} />
          Turn on sound
        </button>
      )}
    </div>
  );
}
