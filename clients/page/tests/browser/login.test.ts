// SPDX-License-Identifier: Apache-2.0
// Logs in to the page that a real server with keys serves. The test is skipped without a browser.
import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { findBrowser, launch } from "./browser";
import { violationsOf } from "./questions";
import { freePort, until } from "./starling";

const executable = findBrowser();
const program = process.env["STARLING_PROGRAM"] ?? "";
const builtPage = process.env["STARLING_BUILT_PAGE"] ?? "";

/** A server with a keys file that has some of the principals in `roles`. */
class KeyedServer {
  readonly work = mkdtempSync(join(tmpdir(), "starling-login-"));
  private readonly roles = { full: '"publish", "query", "subscribe", "stats"', narrow: '"tick"' };
  private server: ChildProcess | null = null;

  constructor(private readonly httpPort: number) {
    this.keygen("server");
    for (const name of Object.keys(this.roles)) this.keygen(name, "--token");
  }

  get address(): string {
    return `http://127.0.0.1:${this.httpPort}/`;
  }

  token(name: keyof typeof this.roles): string {
    return readFileSync(join(this.work, `${name}.token`), "utf8").trim();
  }

  private keygen(...flags: string[]): void {
    execFileSync(program, ["keygen", ...flags], { cwd: this.work, stdio: "ignore" });
  }

  /** From now on, the server knows only these principals. */
  know(...names: (keyof typeof this.roles)[]): void {
    const lines = ["[server]", 'key = "server.key"'];
    for (const name of names) {
      const hash = createHash("sha256").update(this.token(name)).digest("hex");
      const roles = this.roles[name];
      lines.push("[[principal]]", `name = "${name}"`);
      lines.push(`token_sha256 = "${hash}"`, `roles = [${roles}]`);
    }
    writeFileSync(join(this.work, "keys.toml"), lines.join("\n") + "\n", { mode: 0o600 });
    this.server?.kill("SIGHUP");
  }

  async start(): Promise<void> {
    const sockets = ["--commands", "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*"];
    const http = ["--http", `127.0.0.1:${this.httpPort}`, "--page", builtPage];
    const flags = ["serve", "--keys", join(this.work, "keys.toml"), ...sockets, ...http];
    this.server = spawn(program, flags, { stdio: "ignore" });
    await until(async () => (await fetch(this.address)).ok, "the server gave the page");
  }

  async putObject(): Promise<void> {
    const answer = await fetch(`${this.address}v1/objects`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${this.token("full")}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify([{ id: "7", x: 1, y: 2 }]),
    });
    assert.equal(answer.status, 200, await answer.text());
  }

  close(): void {
    this.server?.kill("SIGKILL");
    rmSync(this.work, { recursive: true, force: true });
  }
}

async function enter(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.keyboard.press("Enter");
}

/** Returns what is in the tab's storage, and asserts that the token is nowhere else. */
async function findToken(page: Page, token: string): Promise<string[]> {
  const kept = await page.evaluate(() => ({
    tab: Object.values({ ...sessionStorage }),
    elsewhere: [JSON.stringify({ ...localStorage }), document.cookie, location.href],
  }));
  assert.ok(!kept.elsewhere.join().includes(token));
  return kept.tab;
}

async function wrongAndRight(page: Page, server: KeyedServer): Promise<void> {
  await page.getByText("This server has keys.").waitFor();
  assert.deepEqual(await violationsOf(page), []);
  assert.ok(await page.getByLabel("Token").evaluate((field) => field === document.activeElement));
  await enter(page, "wrong");
  await page.getByText("The server does not know this token").waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await enter(page, server.token("full"));
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByText("1 object in view").waitFor();
  assert.deepEqual(await findToken(page, server.token("full")), [server.token("full")]);
  await page.reload();
  await page.getByText("1 object in view").waitFor();
}

async function revoked(page: Page, server: KeyedServer): Promise<void> {
  server.know("narrow");
  await page.getByText("The server does not know this token").waitFor();
  assert.deepEqual(await findToken(page, server.token("full")), []);
  assert.equal(await page.getByText("1 object in view").count(), 0);
}

async function narrow(page: Page, server: KeyedServer): Promise<void> {
  await enter(page, server.token("narrow"));
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByText("No positions:").waitFor();
  await page.getByText("No standing queries:").waitFor();
  await page.getByRole("region", { name: "Server" }).getByText("the role stats").waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByText("You have logged out.").waitFor();
  assert.deepEqual(await findToken(page, server.token("narrow")), []);
}

const skip = executable ? false : "no browser";

test("the page of a server with keys", { skip }, async (context) => {
  if (!executable || !existsSync(program)) return context.skip("no server");
  const server = new KeyedServer(await freePort());
  const browser = await launch(executable);
  try {
    server.know("full", "narrow");
    await server.start();
    await server.putObject();
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const urls: string[] = [];
    page.on("request", (request) => urls.push(request.url()));
    page.on("websocket", (socket) => urls.push(socket.url()));
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(server.address);
    await wrongAndRight(page, server);
    await revoked(page, server);
    await narrow(page, server);
    assert.deepEqual(errors, []);
    for (const name of ["full", "narrow"] as const)
      assert.ok(!urls.join().includes(server.token(name)), "no address has a token");
  } finally {
    await browser.close();
    server.close();
  }
});
