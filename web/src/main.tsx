import { createRoot } from "react-dom/client";
import { App } from "./App";
import { watchedRoom } from "./watch/room";
import { Watch } from "./watch/Watch";
import "./styles/base.css";
import "./styles/lobby.css";
import "./styles/after.css";
import "./styles/watch.css";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
const watched = watchedRoom(window.location);
createRoot(root).render(watched ? <Watch room={watched} /> : <App />);
