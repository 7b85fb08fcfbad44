// SPDX-License-Identifier: Apache-2.0
// A Starling server and a replay that sends it a recording, for tests of the page.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const { port } = server.address() as AddressInfo;
  await new Promise((settle) => server.close(settle));
  return port;
}

export async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const endMs = Date.now() + 20000;
  while (!(await isSo().catch(() => false))) {
    if (Date.now() > endMs) throw new Error(`it took too long until ${what}`);
    await new Promise((settle) => setTimeout(settle, 50));
  }
}

export class Starling {
  private readonly work = mkdtempSync(join(tmpdir(), "starling-page-"));
  private server: ChildProcess | null = null;
  private replay: ChildProcess | null = null;

  constructor(
    private readonly program: string,
    private readonly trace: string,
    readonly httpPort: number,
  ) {}

  async get(path: string): Promise<any> {
    return (await fetch(`http://127.0.0.1:${this.httpPort}${path}`)).json();
  }

  async hasWebSocket(): Promise<boolean> {
    return (await fetch(`http://127.0.0.1:${this.httpPort}/v1/ws`)).status !== 404;
  }

  async start(): Promise<void> {
    const endpoints = join(this.work, "endpoints.json");
    rmSync(endpoints, { force: true });
    const sockets = ["--commands", "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*"];
    const http = ["--http", `127.0.0.1:${this.httpPort}`, "--endpoints-file", endpoints];
    const ticks = ["--tick", "manual", "--object-ttl", "3s"];
    this.server = this.run(["serve", ...ticks, ...sockets, ...http]);
    await until(async () => this.get("/v1/streams"), "the server answered");
    const { commands, results } = JSON.parse(readFileSync(endpoints, "utf8"));
    const connect = ["--connect", commands, "--results", results];
    const how = ["--stream", "traffic", "--queries", "all", "--k", "5", "--tick", "1s"];
    this.replay = this.run(["replay", this.trace, ...connect, ...how, "--speed", "10"]);
  }

  private run(flags: string[]): ChildProcess {
    return spawn(this.program, flags, { stdio: "ignore" });
  }

  /** Stops or continues the replay; the server's time stands still meanwhile. */
  freeze(isFrozen: boolean): void {
    this.replay?.kill(isFrozen ? "SIGSTOP" : "SIGCONT");
  }

  stop(): void {
    this.replay?.kill("SIGKILL");
    this.server?.kill("SIGKILL");
  }

  close(): void {
    this.stop();
    rmSync(this.work, { recursive: true, force: true });
  }
}
