import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ADA, journalRows, openclaw, useFaultFixture, type FaultFixture } from "./fixture.ts";
import { walkConfig, type GatewayUnderTest } from "../kit/gateway/process.ts";

/** What the matrix does not kill: everything that is no answer of a model to a person. */
const fixture = useFaultFixture();

const STRANGER = 5005;
const NEWS = "The mail server is full.";
const HOOKS_TOKEN = "hooks-token-of-the-tests";

interface Kind {
  /** Makes the gateway say it. */
  begin(at: FaultFixture): Promise<void> | void;
  readonly chat: number;
  /** What the chat is to show of it, once. */
  readonly shown: RegExp;
  /** How its row may end. */
  readonly ends: RegExp;
}

const KINDS: Readonly<Record<string, Kind>> = {
  "a pairing code": {
    begin: (at) => void at.telegram.say("let me in", { from: { id: STRANGER } }),
    chat: STRANGER,
    shown: /pairing code is \w{8}/,
    ends: /^dropped$/,
  },
  "a command's answer": {
    begin: (at) => void at.telegram.say("/status"),
    chat: ADA,
    shown: /Agent: main/,
    ends: /^command$/,
  },
  "the notice of a failed run": {
    begin(at) {
      at.model.answer(() => ({ status: 401, message: "bad key" }));
      at.telegram.say("hello");
    },
    chat: ADA,
    shown: /⚠️ The model's key was not accepted/,
    ends: /^failed$/,
  },
  "a heartbeat's news": {
    async begin(at) {
      at.model.answer(() => ({ text: NEWS }));
      await writeFile(join(at.home.stateDir, "workspace", "HEARTBEAT.md"), "- is the mail server well?");
      void openclaw(at, "system", "heartbeat", "now");
    },
    chat: ADA,
    shown: /The mail server is full/,
    ends: /^replied$/,
  },
  "a scheduled job's answer": {
    begin(at) {
      at.model.answer(() => ({ text: NEWS }));
      void openclaw(at, "cron", "add", "1s", "is the mail server well?");
    },
    chat: ADA,
    shown: /The mail server is full/,
    ends: /^replied$/,
  },
  "a scheduled command's output": {
    begin: (at) => void openclaw(at, "cron", "add", "1s", "--command", `echo ${NEWS}`),
    chat: ADA,
    // A command that had begun is not run again.
    shown: /The mail server is full|was interrupted/,
    ends: /^replied$/,
  },
  "a webhook's answer": {
    begin(at) {
      at.model.answer(() => ({ text: NEWS }));
      const body = JSON.stringify({ message: "look at the mail server" });
      const headers = { authorization: `Bearer ${HOOKS_TOKEN}` };
      const sent = fetch(`http://127.0.0.1:${at.home.latest?.port}/hooks/agent`, { method: "POST", headers, body });
      // The kill may come before its answer.
      void sent.catch(() => undefined);
    },
    chat: ADA,
    shown: /The mail server is full/,
    ends: /^replied$/,
  },
};

/** What the journal shows when the process dies. */
const STEPS = {
  "the message in the journal": "SELECT 1 FROM inbox WHERE id > ?",
  "the reply planned": "SELECT 1 FROM outbox WHERE inbox_id > ?",
  "the reply on its way": "SELECT 1 FROM outbox WHERE inbox_id > ? AND state IN ('sending', 'sent')",
  "the reply there": "SELECT 1 FROM outbox WHERE inbox_id > ? AND state = 'sent'",
} as const;

const holds = (at: FaultFixture, sql: string, after: number): boolean =>
  journalRows(at.home, sql.replace("?", String(after))).length > 0;

/** Looks as quickly as it can: a kill that comes a step late is one of a later step. */
async function killAt(gateway: GatewayUnderTest, isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise((resolve) => setImmediate(resolve));
  gateway.signal("SIGKILL");
  await gateway.ended;
}

/** The owner has a direct chat, so that a heartbeat knows where to speak. */
async function acquaint(at: FaultFixture): Promise<number> {
  at.model.answer(() => ({ text: "hi there" }));
  at.telegram.say("hi");
  await at.telegram.waitFor((call) => call.ok && call.text.includes("hi there"));
  for (;;) {
    const [row] = journalRows(at.home, "SELECT id FROM inbox WHERE state = 'done'");
    if (row) return Number(row["id"]);
    await new Promise((look) => setTimeout(look, 5));
  }
}

async function settled(at: FaultFixture, after: number): Promise<string> {
  const open = `SELECT outcome FROM inbox WHERE id > ${after}`;
  for (;;) {
    const [row] = journalRows(at.home, open);
    const isSent = !holds(at, "SELECT 1 FROM outbox WHERE inbox_id > ? AND state NOT IN ('sent', 'failed')", after);
    const outcome = row?.["outcome"];
    if (typeof outcome === "string" && isSent) return (JSON.parse(outcome) as { kind: string }).kind;
    await new Promise((look) => setTimeout(look, 20));
  }
}

const cases = Object.keys(KINDS).flatMap((kind) => Object.keys(STEPS).map((step) => [kind, step] as const));

test.each(cases)("%s: killed with %s, it is said once, or says that it may be there twice", async (name, step) => {
  const kind = KINDS[name];
  if (!kind) throw new Error(`no kind ${name}`);
  const at = fixture();
  const { telegram: open } = walkConfig(at.telegram, at.model).channels;
  const telegram = { ...open, dmPolicy: "pairing", allowFrom: [String(ADA)] };
  await at.config({
    commands: { ownerAllowFrom: [String(ADA)] },
    agents: { defaults: { model: { primary: "fake/fake-1" }, heartbeat: { every: "7d" } } },
    channels: { telegram },
    hooks: { enabled: true, token: HOOKS_TOKEN },
    tools: { exec: { security: "full", ask: "off" } },
  });
  const gateway = await at.start();
  const after = await acquaint(at);
  await kind.begin(at);
  await killAt(gateway, () => holds(at, STEPS[step as keyof typeof STEPS], after));
  const next = await at.start();
  expect(await settled(at, after)).toMatch(kind.ends);
  const shown = at.telegram.shown(kind.chat).filter((text) => kind.shown.test(text));
  expect(shown.length).toBeGreaterThan(0);
  expect(shown.filter((text) => !text.startsWith("(possible repeat)")).length).toBeLessThanOrEqual(1);
  expect(await next.kill("SIGTERM")).toBe(0);
});
