import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` serves the page from source and sends everything a Weir server answers to one
// running beside it.
const server = "http://127.0.0.1:7880";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "dist",
    // The meeting itself (livekit-client, the gallery) is one lazily loaded chunk of about half a
    // megabyte.
    chunkSizeWarningLimit: 800,
  },
  server: {
    proxy: {
      "/api": server,
      "/rtc": { target: server, ws: true },
      "/whep": server,
    },
  },
});
