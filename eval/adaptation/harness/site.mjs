import { readFileSync } from "node:fs";

const PAGE = new URL("../page/", import.meta.url).pathname;
const PACKAGES = new URL("../../../verify/browsers/", import.meta.url).pathname;

/** The files of the page in this folder by name, with `livekit-client` as npm delivers it. */
export async function bundle(page = PAGE) {
  const { build } = await import(`${PACKAGES}node_modules/vite/dist/node/index.js`);
  const client = `${PACKAGES}node_modules/livekit-client/dist/livekit-client`;
  const { output } = await build({
    configFile: false,
    logLevel: "error",
    root: page,
    resolve: {
      alias: [
        { find: /^livekit-client\/e2ee-worker/, replacement: `${client}.e2ee.worker.mjs` },
        { find: /^livekit-client$/, replacement: `${client}.esm.mjs` },
      ],
    },
    build: {
      write: false,
      minify: false,
      rollupOptions: { input: `${page}client.js`, output: { entryFileNames: "client.js" } },
    },
  });
  const files = new Map(output.map((file) => [file.fileName, file.code ?? file.source]));
  return files.set("index.html", readFileSync(`${page}index.html`, "utf8"));
}
