import { ConnectionError, ConnectionErrorReason, DisconnectReason } from "livekit-client";
import { readClaims } from "../access";
import type { Ending } from "../ending";

const problem = (title: string, detail: string, again: string | undefined = "Try again"): Ending => ({
  title,
  detail,
  tone: "problem",
  again,
});

const LEFT: Ending = {
  title: "You left the meeting",
  detail: "Your camera and microphone are off. Come back whenever you like.",
  tone: "calm",
  again: "Rejoin",
};

const LOST = problem(
  "The connection was lost",
  "Several attempts to come back did not succeed. Check your network, then join again.",
  "Rejoin",
);

/** The end of a meeting that was under way, in plain words. */
export function disconnectEnding(reason: DisconnectReason): Ending {
  switch (reason) {
    case DisconnectReason.CLIENT_INITIATED:
      return LEFT;
    case DisconnectReason.DUPLICATE_IDENTITY:
      return problem(
        "You joined from somewhere else",
        "The same person entered this room in another window or on another device, so this one was closed.",
        "Continue here",
      );
    case DisconnectReason.PARTICIPANT_REMOVED:
      return problem("You were removed", "Somebody with the right to do so took you out of this meeting.", "Ask again");
    case DisconnectReason.ROOM_DELETED:
    case DisconnectReason.ROOM_CLOSED:
      return { title: "The meeting is over", detail: "The room was closed.", tone: "calm", again: "Open it again" };
    case DisconnectReason.SERVER_SHUTDOWN:
      return problem("The server is shutting down", "It was stopped or is being updated. Try again in a minute.");
    case DisconnectReason.STATE_MISMATCH:
    case DisconnectReason.SIGNAL_CLOSE:
    case DisconnectReason.CONNECTION_TIMEOUT:
    case DisconnectReason.MIGRATION:
      return LOST;
    case DisconnectReason.MEDIA_FAILURE:
      return problem(
        "Sound and pictures could not get through",
        "The server answers, but media does not reach it. A firewall between you may be blocking UDP.",
      );
    case DisconnectReason.JOIN_FAILURE:
      return problem("The meeting could not be joined", "The server did not complete your entry.");
    case DisconnectReason.USER_REJECTED:
    case DisconnectReason.USER_UNAVAILABLE:
      return problem("You were not let in", "The server refused this entry.");
    default:
      return LOST;
  }
}

/** Why a meeting was never entered, in plain words. */
export function connectionEnding(error: unknown, token: string): Ending {
  if (!(error instanceof ConnectionError)) {
    return problem("The meeting could not be joined", "Something went wrong on this page. Reload it and try again.");
  }
  switch (error.reason) {
    case ConnectionErrorReason.NotAllowed:
      return refusal(error.status, token);
    case ConnectionErrorReason.ServerUnreachable:
    case ConnectionErrorReason.WebSocket:
      return problem("The server does not answer", "It may be down, or your network may not reach it.");
    case ConnectionErrorReason.Timeout:
      return problem(
        "The server took too long",
        "It answered, but the connection for sound and pictures did not come up. A firewall may be blocking UDP.",
      );
    case ConnectionErrorReason.LeaveRequest:
      return disconnectEnding(error.context as DisconnectReason);
    case ConnectionErrorReason.Cancelled:
      return LEFT;
    case ConnectionErrorReason.ServiceNotFound:
      return problem("This is not a meeting server", "The address answers, but not with meetings.");
    default:
      return problem("The server has a problem", "It could not let you in just now. Try again in a minute.");
  }
}

function refusal(status: number | undefined, token: string): Ending {
  const expires = readClaims(token)?.expires;
  if (status === 404) return problem("There is no such room", "On this server rooms have to be opened first.");
  if (expires && expires < new Date()) {
    return problem("Your token has expired", "Ask the person who invited you for a new one.", "Back");
  }
  return problem("You were not let in", "The server does not accept your token for this room.", "Back");
}
