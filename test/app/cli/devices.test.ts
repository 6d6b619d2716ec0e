import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCommand } from "../../../src/app/cli/run/run-cli.ts";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import { Device } from "../../kit/server/device.ts";
import { startTestServer, TOKEN, type TestServer } from "../../kit/server/server.ts";

let gateway: TestServer;
let stateDir: string;

beforeEach(async () => {
  gateway = await startTestServer();
  stateDir = mkdtempSync(join(tmpdir(), "devices-"));
  writeFileSync(join(stateDir, "openclaw.json"), JSON.stringify({ gateway: { port: gateway.server.port } }), {
    mode: 0o600,
  });
});
afterEach(async () => {
  await gateway.server.close(100);
  rmSync(stateDir, { recursive: true });
});

async function run(...args: readonly string[]) {
  let [out, err] = ["", ""];
  const code = await runCommand(
    {
      env: { OPENCLAW_STATE_DIR: stateDir, OPENCLAW_GATEWAY_TOKEN: TOKEN },
      contributions: bundledContributions(),
      out: (text: string) => void (out += text),
      err: (text: string) => void (err += text),
      isTerminal: false,
      isErrTerminal: false,
      color: false,
      verbose: false,
    },
    ["devices", ...args],
  );
  return { code, out, err };
}

test("a device is listed, named, given fewer rights, and taken its token by the beginning of its id", async () => {
  expect(await run()).toMatchObject({ code: 0, out: "No device has a token of its own.\n" });
  const device = new Device(() => gateway.url);
  const { token } = await device.connect({ token: TOKEN }, ["operator.read", "operator.write"]);
  const short = device.id.slice(0, 12);
  expect((await run("rename", "--device", short, "--name", "Ada's phone")).out).toContain("Ada's phone");
  const { out } = await run("list");
  expect(out).toMatch(new RegExp(`${short} +Ada's phone +\\S+ +operator.read operator.write +connected`));
  expect(out).not.toContain(token);
  const rotated = await run("rotate", "--device", short, "--scope", "operator.read");
  expect(rotated).toMatchObject({ code: 0, out: "Ada's phone gets a new token, with: operator.read\n" });
  expect((await device.connect({ deviceToken: token })).answer).toMatchObject({ ok: false });
  expect(await run("revoke", "--device", short)).toMatchObject({ code: 0, out: expect.stringContaining("revoked") });
  expect((await run("list")).out).toMatch(/Ada's phone +\S+ +revoked/);
  expect((await run("remove", device.id)).code).toBe(0);
  expect(await run("remove", device.id)).toMatchObject({ code: 1, err: expect.stringContaining("NOT_FOUND") });
});

test("a device that wants more waits, until a person decides", async () => {
  const device = new Device(() => gateway.url);
  const { token } = await device.connect({ token: TOKEN }, ["operator.read"]);
  expect(await run("approve")).toMatchObject({ code: 1, err: expect.stringContaining("No device waits") });
  await device.connect({ deviceToken: token }, ["operator.read", "operator.write"]);
  expect((await run("list")).out).toContain("These want more");
  expect(await run("approve")).toMatchObject({ code: 0, out: expect.stringContaining("operator.read operator.write") });
  await device.connect({ deviceToken: token }, ["operator.read", "operator.write", "operator.admin"]);
  const { pending } = JSON.parse((await run("list", "--json")).out) as { pending: { requestId: string }[] };
  expect(await run("reject", pending[0]?.requestId ?? "")).toMatchObject({ code: 0 });
  expect(await run("reject", "none")).toMatchObject({ code: 1, err: expect.stringContaining("Unknown requestId") });
});

test("a code pairs a device, for what a person in a chat needs unless more is wished", async () => {
  const limited = JSON.parse((await run("code", "--url", "https://claw.example.org", "--json")).out) as object;
  expect(limited).toMatchObject({ gatewayUrl: "wss://claw.example.org", access: "limited" });
  expect((await run("code", "--url", "https://claw.example.org", "--full")).out).toMatch(
    /It pairs one device .* for everything, within \d+ min/,
  );
});
