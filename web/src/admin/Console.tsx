import { useEffect, useState } from "react";
import { Wordmark } from "../ui/Mark";
import { AuditView } from "./AuditView";
import { hashOf, readView, type View } from "./address";
import type { Api } from "./api";
import { Name } from "./Name";
import { PeopleView } from "./PeopleView";
import { PlacesView } from "./PlacesView";
import { ParticipantView } from "./participant/ParticipantView";
import { RoomsView } from "./RoomsView";
import { RoomView } from "./RoomView";

const TABS: { view: View; words: string }[] = [
  { view: { at: "rooms" }, words: "Rooms" },
  { view: { at: "people" }, words: "People" },
  { view: { at: "places" }, words: "Data plane" },
  { view: { at: "audit" }, words: "Audit" },
];

/** The views of an operator, by the address's fragment. */
export function Console({ api, onSignOut }: { api: Api; onSignOut(): void }) {
  const [view, setView] = useState(() => readView(window.location.hash));
  useEffect(() => {
    const read = () => setView(readView(window.location.hash));
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, []);

  const { identity, api_key, room, may_close, may_moderate } = api.bearer;
  const isReadOnly = !may_close && !may_moderate;
  // Entries are those of all rooms.
  const tabs = room === null ? TABS : TABS.filter((tab) => tab.view.at !== "places");
  const tab = view.at === "room" || view.at === "participant" ? "rooms" : view.at;
  return (
    <>
      <header className="admin-head">
        <Wordmark />
        <nav aria-label="Views">
          {tabs.map(({ view: to, words }) => (
            <a key={to.at} href={hashOf(to)} aria-current={tab === to.at ? "page" : undefined}>
              {words}
            </a>
          ))}
        </nav>
        <p className="admin-bearer">
          <Name>{identity || api_key}</Name>
          <span className="admin-badge">{isReadOnly ? "read only" : "may act"}</span>
          <button type="button" className="admin-button" onClick={onSignOut}>
            Forget the token
          </button>
        </p>
      </header>
      <main className="admin-main">
        <CurrentView api={api} view={view} />
      </main>
    </>
  );
}

function CurrentView({ api, view }: { api: Api; view: View }) {
  switch (view.at) {
    case "rooms":
      return <RoomsView api={api} />;
    case "people":
      return <PeopleView api={api} />;
    case "places":
      return <PlacesView api={api} />;
    case "audit":
      return <AuditView api={api} />;
    case "room":
      return <RoomView key={view.room} api={api} room={view.room} />;
    case "participant":
      return (
        <ParticipantView
          key={JSON.stringify([view.room, view.identity])}
          api={api}
          room={view.room}
          identity={view.identity}
        />
      );
  }
}
