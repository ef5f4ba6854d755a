import type { ApiError } from "./api";

/** The reason that the server gives no newer answer, if there is one. */
export function Trouble({ error }: { error: ApiError | undefined }) {
  return error ? (
    <p role="alert" className="admin-trouble">
      {error.message}
    </p>
  ) : null;
}
