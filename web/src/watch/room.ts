/** The room of a viewer's address, `/watch/ROOM`; `undefined` for other addresses. */
export function watchedRoom(location: Location): string | undefined {
  const [first, ...rest] = location.pathname.split("/").filter(Boolean);
  if (first !== "watch" || rest.length === 0) return undefined;
  try {
    return decodeURIComponent(rest.join("/"));
  } catch {
    return rest.join("/");
  }
}
