// SPDX-License-Identifier: Apache-2.0
// Serves the files of one folder, for the browser.
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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

export function serveFolder(folder: string): Promise<FolderServer> {
  const server = createServer((request, answer) => {
    const name = basename(new URL(request.url ?? "/", "http://localhost").pathname) || "index.html";
    const file = join(folder, name);
    if (!existsSync(file)) {
      answer.writeHead(404).end();
      return;
    }
    answer.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "text/plain" });
    createReadStream(file).pipe(answer);
  });
  return new Promise((settle) => {
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      settle({ address: `http://127.0.0.1:${port}/`, close: () => void server.close() });
    });
  });
}
