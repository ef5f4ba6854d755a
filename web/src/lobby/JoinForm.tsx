import { useId } from "react";

interface JoinFormProps {
  room: string;
  name: string;
  /** The name a token carries: the server will use it, so it is shown and not asked for. */
  fixedName: string | undefined;
  asksForToken: boolean;
  busy: boolean;
  trouble: string | undefined;
  onName: (name: string) => void;
  onToken: (token: string) => void;
  onSubmit: () => void;
}

/** Name, token where one is needed, and the button that goes in. */
export function JoinForm(props: JoinFormProps) {
  const id = useId();
  const name = props.fixedName ?? props.name;
  return (
    <form
      className="card join"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSubmit();
      }}
    >
      <p className="eyebrow">You are about to join</p>
      <h1>{props.room}</h1>
      <label className="field" htmlFor={`${id}-name`}>
        <span>Your name</span>
        <input
          id={`${id}-name`}
          name="name"
          value={name}
          onChange={(event) => props.onName(event.target.value)}
          disabled={props.fixedName !== undefined}
          required
          maxLength={64}
          autoComplete="name"
          placeholder="How others will see you"
          // biome-ignore lint/a11y/noAutofocus: it is the one thing to fill in on this screen.
          autoFocus
        />
      </label>
      {props.asksForToken && (
        <label className="field" htmlFor={`${id}-token`}>
          <span>Access token</span>
          <textarea
            id={`${id}-token`}
            name="token"
            rows={3}
            spellCheck={false}
            required
            placeholder="eyJhbGciOi…"
            onChange={(event) => props.onToken(event.target.value)}
          />
        </label>
      )}
      {props.trouble && (
        <p className="trouble" role="alert">
          {props.trouble}
        </p>
      )}
      <button type="submit" className="button primary" disabled={props.busy || name.trim() === ""}>
        {props.busy ? "Joining…" : "Join the meeting"}
      </button>
    </form>
  );
}
