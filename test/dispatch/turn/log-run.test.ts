import { expect, test } from "vitest";
import { logRun } from "../../../src/dispatch/turn/log-run.ts";
import type { RunEventBody } from "../../../src/types/run/events.ts";
import type { Log } from "../../../src/types/log.ts";
import { Secret } from "../../../src/types/secret.ts";
import { ends, facts, ScriptedRun } from "../../kit/server/scripted-chat.ts";

function asks(command: string): RunEventBody {
  const { runId, sessionKey, agentId } = facts("r1");
  const approval = { id: "a1", runId, sessionKey, agentId, command, cwd: "/w", createdAt: 0, expiresAt: 1 };
  return { type: "approval_request", approval: { ...approval, reason: "not on the allowlist" } };
}

/** The `approval asked` lines of a run that asks for these commands. */
async function linesFor(...commands: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const over = Promise.withResolvers<void>();
  const log: Log = {
    debug() {},
    warn() {},
    error() {},
    info: (message, fields = {}) => {
      if (message === "approval asked") lines.push(fields);
      if (message === "run ended") over.resolve();
    },
    with: () => log,
  };
  const run = new ScriptedRun(facts("r1"));
  logRun(run, log);
  run.tell(...commands.map(asks), ends());
  await over.promise;
  return lines;
}

test("the line of a question about a command says which, where and why", async () => {
  expect(await linesFor("git push\n  --force")).toEqual([
    { approval: "a1", command: "git push --force", cwd: "/w", because: "not on the allowlist" },
  ]);
});

test("a command is masked, also where it is cut, and never long", async () => {
  const secret = new Secret("sk-told-to-nobody-0123456789-abcdefghij");
  for (let before = 150; before < 300; before += 1) {
    const [line] = await linesFor(`${"x".repeat(before)} ${secret.reveal()} ${"y".repeat(20_000)}`);
    const command = String(line?.["command"]);
    expect(command.length).toBeLessThanOrEqual(300);
    expect(command).not.toMatch(/sk-t|told-to|nobody|0123456/);
  }
});
