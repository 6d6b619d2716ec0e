import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openJournal } from "../../src/store/journal/journal.ts";
import { unpackEarlierState } from "../kit/store/earlier-state.ts";
import { until } from "../kit/until.ts";
import { compactSchema } from "./way-back/compact.ts";

/** OpenClaw 2026.5.20, which `npm run peers` installs. */
const OPENCLAW = process.env["OPENCLAW_WAY_BACK"] ?? "";
const OURS = join(import.meta.dirname, "../../bin/openclaw.mjs");
const SCHEMA = join(import.meta.dirname, "../../src/app/export/openclaw-config.json");
const PORT = 18_979;
const READY_MS = 120_000;

/** Keys of many kinds: those of both, those that only this gateway has, and values that only it takes. */
const CONFIG = {
  gateway: { port: PORT },
  agents: {
    defaults: { sandbox: { mode: "auto" }, heartbeat: { every: "30m" }, model: "openai/gpt-5.5" },
    list: [
      { id: "main", default: true },
      { id: "second", tools: { deny: ["exec"] } },
    ],
  },
  budgets: { run: { money: 5 } },
  bindings: [{ agentId: "second", match: { channel: "telegram", peer: { kind: "direct", id: 3003 } } }],
  channels: {
    telegram: {
      botToken: "1:a",
      allowFrom: [1001, "1002"],
      groups: { "*": { requireMention: true } },
      streaming: "partial",
    },
    discord: { token: "a.b.c", enabled: false },
    slack: { botToken: "xoxb-1", appToken: "xapp-1", enabled: false },
    signal: { account: "+15550001", enabled: false },
    whatsapp: { enabled: false, dmPolicy: "allowlist", allowFrom: ["+15550002"] },
  },
  commands: { ownerAllowFrom: [1001] },
  cron: { retry: { maxAttempts: 2, retryOn: ["network"] } },
  hooks: { internal: { entries: { watcher: { enabled: true } } } },
  mcp: { servers: { files: { command: "files", args: ["--all"], env: { A: "1" } } } },
  messages: { queue: { mode: "collect" }, tts: { auto: "off" } },
  models: {
    providers: {
      local: {
        baseUrl: "http://127.0.0.1:9/v1",
        apiKey: "k",
        api: "openai-completions",
        models: [{ id: "m", name: "m" }],
      },
    },
  },
  plugins: { entries: { tally: { enabled: true } } },
  session: { reset: { mode: "idle", idleMinutes: 60 } },
  tools: { exec: { mode: "ask", passEnv: ["LANG"] }, web: { fetch: { timeoutSeconds: 20 } } },
};

let home: string;
let back: string;
let receipt: {
  counts: Record<string, number>;
  left: { what: string; why: string }[];
  config: { left: { key: string }[] };
};
let code = "";

beforeAll(async () => {
  if (OPENCLAW === "") return;
  home = await mkdtemp(join(tmpdir(), "openclaw-way-back-"));
  back = join(home, ".openclaw");
  const state = join(home, "ours");
  await unpackEarlierState(state);
  await writeFile(join(state, "openclaw.json"), JSON.stringify(CONFIG));
  const journal = await openJournal({ path: join(state, "state", "journal.sqlite"), bootId: "test" });
  const asked = await journal.pairing.request({
    channel: "telegram",
    account: "default",
    senderId: "5005",
    name: "Cleo",
  });
  if ("request" in asked) code = asked.request.code;
  await journal.close();
  const made = await program(OURS, ["export", "--to", back, "--json"], { OPENCLAW_STATE_DIR: state });
  expect(made.code, made.said).toBe(0);
  receipt = JSON.parse(made.out);
}, READY_MS);
afterAll(async () => {
  if (OPENCLAW !== "") await rm(home, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  /** Both outputs. */
  readonly said: string;
}

function start(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  log?: number,
): ChildProcess {
  return spawn(process.execPath, [file, ...args], {
    env: { PATH: process.env["PATH"], HOME: home, NO_COLOR: "1", OPENCLAW_SKIP_CHANNELS: "1", ...env },
    stdio: ["ignore", log ?? "pipe", log ?? "pipe"],
    cwd: home,
  });
}

async function program(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = start(file, args, env);
  let out = "";
  let err = "";
  child.stdout?.on("data", (piece: Buffer) => (out += piece.toString()));
  child.stderr?.on("data", (piece: Buffer) => (err += piece.toString()));
  const ended = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code: ended, out, said: `${out}\n${err}` };
}

const openclaw = (...args: readonly string[]): Promise<Ended> => program(OPENCLAW, args);

describe.skipIf(OPENCLAW === "")("OpenClaw 2026.5.20, on an export of this gateway,", () => {
  test("takes the config, and the receipt names what it would have refused", async () => {
    const checked = await openclaw("config", "validate");
    expect([checked.code, checked.said]).toEqual([0, expect.stringContaining("Config valid")]);
    expect(receipt.config.left.map(({ key }) => key).toSorted()).toEqual([
      "agents.defaults.sandbox.mode",
      "budgets",
      "tools.exec.passEnv",
    ]);
    // Without these keys the test would prove nothing: the program refuses them.
    const path = join(back, "openclaw.json");
    const text = await readFile(path, "utf8");
    await writeFile(path, JSON.stringify({ ...JSON.parse(text), budgets: CONFIG.budgets }));
    const refused = await openclaw("config", "validate");
    await writeFile(path, text);
    expect([refused.code === 0, refused.said]).toEqual([false, expect.stringContaining("config is invalid")]);
  });

  test("shows the conversations and those who wait", async () => {
    const { sessions } = JSON.parse((await openclaw("sessions", "--all-agents", "--json")).out);
    expect(sessions).toHaveLength(receipt.counts["sessions"] ?? 0);
    const keys = sessions.map(({ key }: { key: string }) => key);
    expect(keys).toEqual(
      expect.arrayContaining(["agent:main:telegram:direct:1001", "agent:main:telegram:direct:1002"]),
    );
    const waiting = await openclaw("pairing", "list", "telegram", "--json");
    expect(JSON.parse(waiting.out)).toMatchObject({ requests: [{ id: "5005", code }] });
    const approved = await openclaw("pairing", "approve", "telegram", code);
    expect([approved.code, approved.said]).toEqual([0, expect.stringContaining("5005")]);
    const people = JSON.parse(await readFile(join(back, "credentials", "telegram-default-allowFrom.json"), "utf8"));
    expect(people.allowFrom).toEqual(["4001", "5005"]);
  });

  test("starts, has the jobs with their next times, and shows what was said", async () => {
    const log = join(home, "log");
    const child = start(OPENCLAW, ["gateway", "run"], {}, openSync(log, "a"));
    const ended = new Promise((resolve) => child.once("exit", resolve));
    try {
      await until(() => isReady(child, log), "OpenClaw's gateway", READY_MS);
      const { jobs } = JSON.parse((await openclaw("cron", "list", "--json")).out);
      expect(jobs).toHaveLength(receipt.counts["jobs"] ?? 0);
      for (const job of jobs) expect(job.state.nextRunAtMs).toBeGreaterThan(Date.now());
      const params = JSON.stringify({ sessionKey: "agent:main:telegram:direct:1001" });
      const history = await openclaw("gateway", "call", "chat.history", "--params", params, "--json");
      expect(history.code, history.said).toBe(0);
      const { messages } = JSON.parse(history.out);
      expect(messages.length).toBeGreaterThan(3);
      expect(history.out).toContain("The gate code is 4417.");
      expect(history.out).toContain(join(back, "workspace"));
      const rules = JSON.parse((await openclaw("approvals", "get", "--json")).out);
      expect(rules.file.agents).toMatchObject(
        JSON.parse(await readFile(join(back, "exec-approvals.json"), "utf8")).agents,
      );
    } finally {
      child.kill("SIGTERM");
      await ended;
    }
  });

  test("has the schema that the export fits the config to", async () => {
    // What plugins add to it depends on the config, so the program has none here.
    const { out } = await program(OPENCLAW, ["config", "schema"], { OPENCLAW_STATE_DIR: join(home, "empty") });
    expect(JSON.parse(compactSchema(JSON.parse(out)))).toEqual(JSON.parse(await readFile(SCHEMA, "utf8")));
  });
});

async function isReady(child: ChildProcess, log: string): Promise<boolean> {
  if (child.exitCode !== null) throw new Error(`it ended: ${readFileSync(log, "utf8").slice(-2000)}`);
  const answer = await fetch(`http://127.0.0.1:${PORT}/readyz`).catch(() => undefined);
  return answer?.ok === true;
}
