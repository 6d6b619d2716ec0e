import { afterEach, beforeEach, expect, it } from "vitest";
import { engineLines, lastRunLine } from "../../../src/dispatch/commands/kit/last-run.ts";
import { runId, sessionKey } from "../../../src/types/ids.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

it("/status tells how the last run of the conversation ended", async () => {
  await boot.ask("/status");
  expect(fixture.platform.texts.at(-1)).not.toContain("Last run");
  await boot.ask("hello");
  await boot.ask("/status");
  expect(fixture.platform.texts.at(-1)).toMatch(
    /^Last run: fake\/fake-1, replied, [\d,]+ tokens in, \d+ out, \$\d+\.\d{4}$/m,
  );
  fixture.model.answer(() => ({ status: 401, message: "bad key" }));
  await boot.ask("hello again");
  await boot.ask("/status");
  expect(fixture.platform.texts.at(-1)).toMatch(/^Last run: fake\/fake-1, failed \(auth\), /m);
});

it("names the model that was asked for, and keeps the provider's words for the owner", () => {
  const [model, asked] = [
    { provider: "b", id: "two" },
    { provider: "a", id: "one" },
  ];
  const usage = { input: 1000, output: 5, cacheRead: 200, cacheWrite: 0, totalTokens: 1205 };
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 };
  const tried = {
    model,
    thinking: "off",
    messages: 1,
    estimatedTokens: 1,
    durationMs: 1,
    message: "429 slow",
  } as const;
  const run = {
    runId: runId("r"),
    sessionKey: sessionKey("k"),
    at: 1,
    result: "failed:rate_limit",
    receipt: {
      model,
      usage: { ...usage, cost },
      calls: 1,
      durationMs: 1,
      candidates: [asked, model],
      tries: [{ ...tried, outcome: "rate_limit" as const }],
    },
  };
  const rest = "1,200 tokens in, 5 out, $0.5000";
  expect(lastRunLine(run, false)).toBe(`Last run: b/two for a/one, failed (rate limit), ${rest}`);
  expect(lastRunLine(run, true)).toBe(`Last run: b/two for a/one, failed (rate limit: 429 slow), ${rest}`);
  const without = { ...run, receipt: { ...run.receipt, engine: "own", engineDegraded: "own was skipped: boom" } };
  expect(engineLines(run, true)).toEqual([]);
  expect(engineLines(without, true)).toEqual(["own was skipped: boom"]);
  expect(engineLines(without, false)).toEqual(["The context engine own was not used in the last run."]);
});
