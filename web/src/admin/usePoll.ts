import { useCallback, useEffect, useState } from "react";
import type { Api, ApiError } from "./api";

/** The newest answer of a path, and the error of the last attempt. */
export interface Poll<T> {
  data: T | undefined;
  error: ApiError | undefined;
  /** Asks at once. */
  refresh(): void;
}

interface Answer<T> {
  path: string;
  data: T | undefined;
  error: ApiError | undefined;
}

/** Asks for a path now and every `interval` milliseconds, while the page is visible. */
export function usePoll<T>(api: Api, path: string, interval: number): Poll<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ path, data: undefined, error: undefined });
  const [round, setRound] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round asks again at once
  useEffect(() => {
    const abort = new AbortController();
    let timer: number | undefined;
    const ask = async () => {
      if (document.visibilityState === "visible") {
        await api.get<T>(path, abort.signal).then(
          (data) => setAnswer({ path, data, error: undefined }),
          (error: ApiError) => {
            if (abort.signal.aborted) return;
            setAnswer((last) => ({ path, data: last.path === path ? last.data : undefined, error }));
          },
        );
      }
      if (!abort.signal.aborted) timer = window.setTimeout(ask, interval);
    };
    void ask();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [api, path, interval, round]);

  const refresh = useCallback(() => setRound((last) => last + 1), []);
  // An answer about another path is none.
  const isCurrent = answer.path === path;
  return { data: isCurrent ? answer.data : undefined, error: isCurrent ? answer.error : undefined, refresh };
}
