import { createServer } from "node:http";
import { bundle } from "../../../testkit/browsers/site.mjs";

const PAGE = new URL("../page/", import.meta.url).pathname;
const TYPES = { html: "text/html", js: "text/javascript" };

/**
 * Bundles the bare test page, with the client library of its script as npm delivers it, and serves
 * it on loopback.
 */
export async function startSite(script = "client.js") {
  const files = await bundle(PAGE, script);
  const server = createServer((request, response) => {
    const path = request.url.split("?")[0].slice(1) || "index.html";
    const body = files.get(path);
    response.writeHead(body === undefined ? 404 : 200, {
      "Content-Type": TYPES[path.split(".").pop()] ?? "text/plain",
    });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
