import { readFileSync } from "node:fs";
import { build } from "vite";

const PAGE = new URL("./page/", import.meta.url).pathname;
const CLIENT = new URL("./node_modules/livekit-client/dist/livekit-client", import.meta.url).pathname;

/**
 * The files of a page by name: its `index.html` and its `script`, with `livekit-client` as npm
 * delivers it. Without a folder it is the page of this one.
 */
export async function bundle(page = PAGE, script = "client.js") {
  const { output } = await build({
    configFile: false,
    logLevel: "error",
    root: page,
    resolve: {
      alias: [
        { find: /^livekit-client\/e2ee-worker/, replacement: `${CLIENT}.e2ee.worker.mjs` },
        { find: /^livekit-client$/, replacement: `${CLIENT}.esm.mjs` },
      ],
    },
    build: {
      write: false,
      minify: false,
      rollupOptions: { input: `${page}${script}`, output: { entryFileNames: "client.js" } },
    },
  });
  const files = new Map(output.map((file) => [file.fileName, file.code ?? file.source]));
  return files.set("index.html", readFileSync(`${page}index.html`, "utf8"));
}
