import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mcpCheck } from "../../src/mcp/checks.ts";
import { mcpConfig } from "../../src/mcp/config.ts";
import { run } from "../kit/gateway/cli.ts";
import { newDir, NEVER } from "./kit.ts";

const checked = (servers: object) => mcpCheck(mcpConfig.parse({ servers }), process.env).run(NEVER);

test("the doctor finds a program that is missing and an address that is not allowed, and starts nothing", async () => {
  expect(await checked({})).toMatchObject([{ status: "skip" }]);
  expect(await checked({ good: { command: process.execPath } })).toMatchObject([{ status: "ok" }]);
  expect(await checked({ bad: { command: "no-such-program-anywhere" } })).toMatchObject([
    { status: "fail", message: expect.stringContaining("no-such-program-anywhere") },
  ]);
  for (const host of ["localhost", "127.0.0.1", "10.0.0.5", "[::1]"])
    expect(await checked({ near: { url: `http://${host}:3001/mcp` } })).toMatchObject([
      { status: "fail", fix: expect.stringContaining("mcp.servers.near.ssrfPolicy.allowedHostnames") },
    ]);
  const ssrfPolicy = { allowedHostnames: ["localhost"] };
  expect(await checked({ near: { url: "http://localhost:3001/mcp", ssrfPolicy } })).toMatchObject([{ status: "ok" }]);
  expect(await checked({ off: { command: "no-such-program-anywhere", enabled: false } })).toMatchObject([
    { status: "skip" },
  ]);
});

test("`openclaw policy explain` says that a guest does not have the tools of a server, and an operator does", async () => {
  const dir = newDir();
  const channels = { telegram: { botToken: "1:a", dmPolicy: "open", allowFrom: ["*"] } };
  const mcp = { servers: { github: { command: process.execPath } } };
  writeFileSync(join(dir, "openclaw.json"), JSON.stringify({ channels, mcp }));
  const env = { OPENCLAW_STATE_DIR: dir };
  expect((await run(["policy", "explain", "github__search"], env)).out).toContain("may use github__search");
  const ofGuest = await run(["policy", "explain", "github__search", "--channel", "telegram", "--sender", "42"], env);
  expect(ofGuest.out, ofGuest.err).toContain("may not use github__search");
});

test("a server needs a command or a URL, and a transport that fits", () => {
  for (const bad of [
    {},
    { command: "x", url: "https://a.example" },
    { command: "x", transport: "sse" },
    { url: "ftp://a.example" },
  ])
    expect(mcpConfig.safeParse({ servers: { bad } }).success).toBe(false);
});
