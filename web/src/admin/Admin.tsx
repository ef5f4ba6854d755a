import "./admin.css";
import { useCallback, useEffect, useState } from "react";
import { readToken, saveToken } from "./address";
import { type Api, openApi } from "./api";
import { Console } from "./Console";
import { SignIn } from "./SignIn";

/** The operator's page: a token, then rooms and the people in them. */
export function Admin() {
  const [api, setApi] = useState<Api>();
  const [error, setError] = useState<string>();
  const [isAsking, setIsAsking] = useState(false);

  const signIn = useCallback((token: string) => {
    setIsAsking(true);
    setError(undefined);
    openApi(token)
      .then(
        (opened) => {
          saveToken(token);
          setApi(opened);
        },
        (refusal: Error) => {
          saveToken(undefined);
          setError(refusal.message);
        },
      )
      .finally(() => setIsAsking(false));
  }, []);

  useEffect(() => {
    document.title = "Weir: rooms";
    // The meeting is dark in any case. This page is as the system is.
    document.querySelector("meta[name=color-scheme]")?.setAttribute("content", "light dark");
    const token = readToken(window.location);
    if (token) signIn(token);
  }, [signIn]);

  const signOut = () => {
    saveToken(undefined);
    setApi(undefined);
  };
  return (
    <div className="admin">
      {api ? <Console api={api} onSignOut={signOut} /> : <SignIn error={error} isAsking={isAsking} onToken={signIn} />}
    </div>
  );
}
