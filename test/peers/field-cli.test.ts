import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Device } from "../kit/server/device.ts";
import { startGateway, type StartedGateway } from "./real-gateway/gateways.ts";

/** The program of OpenClaw, which `npm run peers` installs. */
const FIELD = process.env["OPENCLAW_FIELD"] ?? "";
const OURS = join(import.meta.dirname, "../../bin/openclaw.mjs");

let gateway: StartedGateway;
let home: string;
beforeAll(async () => {
  if (FIELD === "") return;
  gateway = await startGateway(OURS);
  home = await mkdtemp(join(tmpdir(), "openclaw-field-cli-"));
  const remote = { url: gateway.url, token: gateway.token };
  await mkdir(join(home, "state"), { mode: 0o700 });
  await writeFile(join(home, "state/openclaw.json"), JSON.stringify({ gateway: { mode: "remote", remote } }), {
    mode: 0o600,
  });
});
afterAll(async () => {
  if (FIELD === "") return;
  await gateway.stop();
  await rm(home, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  /** Both outputs. */
  readonly said: string;
}

/** The command line of OpenClaw asks our gateway, with a home and a state directory of its own. */
async function cli(...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [FIELD, ...args], {
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      OPENCLAW_STATE_DIR: join(home, "state"),
      OPENCLAW_GATEWAY_URL: gateway.url,
      OPENCLAW_GATEWAY_TOKEN: gateway.token,
      NO_COLOR: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
    cwd: home,
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (piece: Buffer) => (out += piece.toString()));
  child.stderr.on("data", (piece: Buffer) => (err += piece.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, out, said: `${out}\n${err}` };
}

/** What no person may see: a method that the gateway does not have, or a client that broke on an answer. */
const BROKEN =
  /unknown method|TypeError|Cannot read properties|\bundefined\b|\bNaN\b|\[object Object\]|does not support required/;

async function expectAnswer(line: readonly string[], shown: RegExp): Promise<string> {
  const { code, out, said } = await cli(...line);
  expect(said).not.toMatch(BROKEN);
  expect(said).toMatch(shown);
  expect({ code, said }).toMatchObject({ code: 0 });
  return out;
}

const words = (line: string): string[] => line.replace("URL", gateway.url).replace("TOKEN", gateway.token).split(" ");

describe.skipIf(FIELD === "")("the command line of OpenClaw", () => {
  test.each([
    ["agent --agent main --message hi", /echo: the answer/],
    ["agent --agent main --message hi --json", /"status": "ok"/],
    ["agent --session-key agent:main:kept --message hi", /echo: the answer/],
    ["agent --session-id 11111111-1111-4111-8111-111111111111 --message hi", /echo: the answer/],
    ["health", /event loop: (?:ok|degraded)/],
    ["health --json", /"ok": true/],
    ["status", /reachable/],
    ["status --all", /reachable/],
    ["status --deep", /reachable/],
    ["status --json", /"reachable": true/],
    ["message send --channel telegram --target 123 --message hi --dry-run --json", /"dryRun": true/],
    ["models list", /fake\/fake-1/],
    ["models list --json", /"key": "fake\/fake-1"/],
    ["models status", /fake\/fake-1|Default/],
    ["skills list", /Skills/],
    ["skills check", /Skills/],
    ["sessions --json", /"sessions"/],
    ["cron status", /"enabled": true/],
    ["cron list", /No cron jobs|No automations/i],
    ["channels list", /channels/i],
    ["channels status", /Web chat/],
    ["devices list", /No device pairing entries/],
    ["nodes list", /Pending: 0/],
    ["nodes status", /Known: 0|No .*nodes/i],
    ["approvals get --gateway --json", /"version":\s*1/],
    ["logs --limit 20", /gateway/i],
    ["system presence", /"mode": "gateway"/],
    ["system event --text hello --mode next-heartbeat", /ok/],
    ["system heartbeat last", /enabled|null/],
    ["gateway call health", /"ok": true/],
    ["gateway health", /event loop|OK/i],
    ["gateway status --url URL --token TOKEN", /Connectivity probe: ok/],
    ["gateway probe", /Reachable: yes/],
    ["gateway usage-cost", /Total/],
    ["tasks list", /tasks/i],
    ["pairing list telegram", /No pending/],
    ["plugins list", /Plugins/],
    ["secrets reload", /reloaded/i],
  ])("`%s` is answered", async (line, shown) => {
    await expectAnswer(words(line), shown);
  });

  test.each([
    ["agent --agent main --message hi --deliver", /belongs to no chat/],
    ["agent --agent nobody --message hi", /no agent "nobody"/],
    ["message send --channel telegram --target 123 --message hi", /No account default of telegram/],
    [
      "message poll --channel telegram --target 1 --poll-question q --poll-option a --poll-option b",
      /No account default of telegram/,
    ],
    ["skills info nothing", /not found/],
    ["devices approve none", /No pending device request/],
    ["devices rotate --device none --role operator", /rotation denied/],
    ["devices revoke --device none --role operator", /revocation denied/],
  ])("`%s` is refused with the reason", async (line, reason) => {
    const { code, said } = await cli(...words(line));
    expect(said).not.toMatch(BROKEN);
    expect(said).toMatch(reason);
    expect(code).toBe(1);
  });

  test("adds, shows, changes, runs and removes a job", async () => {
    const added = await expectAnswer(
      words("cron add --name first --every 1h --message hello --session isolated --json"),
      /first/,
    );
    const { id } = JSON.parse(added) as { id: string };
    await expectAnswer(["cron", "list"], /first/);
    await expectAnswer(["cron", "edit", id, "--name", "second"], /second/);
    await expectAnswer(["cron", "show", id], /second/);
    await expectAnswer(["cron", "run", id], /"ok": true/);
    const runs = async () => JSON.parse((await cli("cron", "runs", "--id", id)).out) as { total: number };
    await expect.poll(runs).toMatchObject({ total: 1 });
    await expectAnswer(["cron", "rm", id], /"removed": true/);
  });

  test("lists, renames and revokes a device, which is disconnected", async () => {
    const device = new Device(() => gateway.url);
    const { client, token } = await device.connect({ token: gateway.token });
    await expectAnswer(["devices", "list"], /Paired \(1\)/);
    await expectAnswer(["devices", "rename", "--device", device.id, "--name", "phone"], /phone/);
    await expectAnswer(["devices", "revoke", "--device", device.id, "--role", "operator"], /revoked/i);
    expect(await client.closed).toMatchObject({ code: 4001 });
    const { answer } = await device.connect({ deviceToken: token });
    expect(answer).toMatchObject({ ok: false, error: { details: { code: "AUTH_DEVICE_TOKEN_MISMATCH" } } });
  });
});
