import { type FormEvent, useState } from "react";
import { Wordmark } from "../ui/Mark";

interface Properties {
  error: string | undefined;
  isAsking: boolean;
  onToken(token: string): void;
}

/** Asks for the operator's token. */
export function SignIn({ error, isAsking, onToken }: Properties) {
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim()) onToken(token.trim());
  };
  return (
    <main className="admin-sign-in">
      <Wordmark />
      <h1>Rooms and people on this server</h1>
      <form onSubmit={submit}>
        <label className="field">
          Access token
          <textarea
            name="token"
            rows={4}
            autoComplete="off"
            spellCheck={false}
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <p className="quiet">
          A token with the grant roomAdmin shows its room, and with roomList as well all rooms. With roomCreate it also
          closes rooms.
        </p>
        {error && <p role="alert">{error}</p>}
        <button type="submit" className="button primary" disabled={isAsking || !token.trim()}>
          {isAsking ? "Asking the server" : "Open"}
        </button>
      </form>
    </main>
  );
}
