// SPDX-License-Identifier: Apache-2.0
// Serves the files of one folder to the browser. Passes requests and WebSockets for /v1 on to a
// server, as if the page came from that server.
import { createReadStream, existsSync } from "node:fs";
import { createServer, request as ask, type IncomingMessage } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { basename, extname, join } from "node:path";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
};

export interface FolderServer {
  address: string;
  close(): void;
}

/**
 * `behind` is the port of the server that answers /v1. If it is 0, requests for /v1 are not passed
 * on.
 */
export function serveFolder(folder: string, behind = 0): Promise<FolderServer> {
  const host = `127.0.0.1:${behind}`;
  const headersOf = (request: IncomingMessage) => ({
    ...request.headers,
    host,
    origin: `http://${host}`,
  });
  const server = createServer((request, answer) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const file = join(folder, basename(path) || "index.html");
    if (behind && path.startsWith("/v1/")) {
      const { method, url } = request;
      const options = { host: "127.0.0.1", port: behind, path: url, method };
      const passed = ask({ ...options, headers: headersOf(request) }, (from) => {
        answer.writeHead(from.statusCode ?? 500, from.headers);
        from.pipe(answer);
      });
      passed.on("error", () => answer.destroy());
      request.pipe(passed);
    } else if (existsSync(file)) {
      answer.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "text/plain" });
      createReadStream(file).pipe(answer);
    } else {
      answer.writeHead(404).end();
    }
  });
  server.on("upgrade", (request, socket) => {
    const passed = connect(behind, "127.0.0.1", () => {
      const fields = Object.entries(headersOf(request)).map(([name, value]) => `${name}: ${value}`);
      passed.write([`GET ${request.url} HTTP/1.1`, ...fields, "", ""].join("\r\n"));
      passed.pipe(socket).pipe(passed);
    });
    passed.on("error", () => socket.destroy());
    socket.on("error", () => passed.destroy());
  });
  return new Promise((settle) => {
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      const close = () => {
        server.close();
        server.closeAllConnections();
      };
      settle({ address: `http://127.0.0.1:${port}/`, close });
    });
  });
}
