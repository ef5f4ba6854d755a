import { lazy, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { isAdmin } from "./admin/address";
import { Splash } from "./ui/Splash";
import { watchedRoom } from "./watch/room";
import { Watch } from "./watch/Watch";
import "./styles/base.css";
import "./styles/lobby.css";
import "./styles/after.css";
import "./styles/watch.css";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
const watched = watchedRoom(window.location);
const Admin = lazy(() => import("./admin/Admin").then((module) => ({ default: module.Admin })));

function Page() {
  if (isAdmin(window.location)) {
    return (
      <Suspense fallback={<Splash words="Opening the operator's page" />}>
        <Admin />
      </Suspense>
    );
  }
  return watched ? <Watch room={watched} /> : <App />;
}

createRoot(root).render(<Page />);
