import { AccessError, type Claims } from "../access";

/** A problem before the meeting, in plain words, and whether another token would cure it. */
export interface Trouble {
  text: string;
  asksForToken: boolean;
}

export function accessTrouble(error: unknown): Trouble {
  if (error instanceof TokenTrouble) return { text: error.message, asksForToken: true };
  if (error instanceof AccessError) {
    switch (error.why) {
      case "unreachable":
        return { text: "The server does not answer. Check your network, then try again.", asksForToken: false };
      case "token-needed":
        return {
          text: "This server lets people in by token. Paste the one you were given.",
          asksForToken: true,
        };
      case "refused":
        return { text: error.message || "The server refused, without saying why.", asksForToken: false };
    }
  }
  return { text: "Something went wrong on this page. Reload it and try again.", asksForToken: false };
}

/** The fault of a token according to its own claims, checked before the server is asked. */
export function claimsTrouble(claims: Claims | undefined, room: string): TokenTrouble | undefined {
  if (!claims) return new TokenTrouble("That is not a token. Paste all of it: three parts joined by dots.");
  if (claims.expires && claims.expires < new Date()) {
    return new TokenTrouble("Your token has expired. Ask the person who invited you for a new one.");
  }
  if (claims.room && claims.room !== room) {
    return new TokenTrouble(`Your token is for the room “${claims.room}”, and this is “${room}”.`);
  }
  return undefined;
}

class TokenTrouble extends Error {}
