import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { GmailWatcher } from "../../../../src/app/gateway/hooks/gmail-watcher.ts";
import { hooksConfig } from "../../../../src/automation/hooks/config.ts";
import { gmailPlan } from "../../../../src/automation/hooks/gmail-plan.ts";
import { fakeGog } from "../../../fakes/gog.ts";
import { manualClock } from "../../../kit/clock.ts";
import { recordLog } from "../../../kit/log.ts";
import { PATIENCE } from "../../../kit/until.ts";

const GMAIL = { account: "ada@example.org", topic: "projects/p/topics/t", pushToken: "push-token-0123" };
const planOf = (gmail: object, hooks: object = {}) =>
  gmailPlan(hooksConfig.parse({ enabled: true, token: "hook-token-0123", gmail, ...hooks }), 4711);

function watching(serve: string) {
  const dir = mkdtempSync(join(tmpdir(), "gmail-"));
  const stop = new AbortController();
  const gog = fakeGog(dir, serve);
  const clock = manualClock();
  const log = recordLog();
  const place = { plan: planOf(GMAIL) as ReturnType<typeof planOf> };
  const env = { PATH: `${dir}:${process.env["PATH"]}`, GOG_ACCOUNT: "x", OPENAI_API_KEY: "secret" };
  const watcher = new GmailWatcher({ clock, log, plan: () => place.plan, env, signal: stop.signal });
  onTestFinished(() => {
    stop.abort();
    rmSync(dir, { recursive: true, force: true });
  });
  const served = () => gog.calls().filter(({ args }) => args[2] === "serve").length;
  const started = () => gog.calls().filter(({ args }) => args[2] === "start").length;
  return { watcher, gog, clock, log, place, stop, served, started };
}

test("the programs get what the config says", () => {
  expect(planOf({})).toBeUndefined();
  expect(planOf({ account: "a" })).toBe("hooks.gmail.topic is missing");
  expect(planOf({ ...GMAIL, pushToken: undefined })).toBe("hooks.gmail.pushToken is missing");
  expect(planOf(GMAIL, { enabled: false })).toContain("hooks.enabled is false");
  const watch = ["gog", "gmail", "watch"];
  expect(planOf(GMAIL)).toEqual({
    account: "ada@example.org",
    start: [...watch, "start", "--account", "ada@example.org", "--label", "INBOX", "--topic", "projects/p/topics/t"],
    renewMs: 43_200_000,
    serve: [
      ...watch,
      "serve",
      "--account",
      "ada@example.org",
      "--bind",
      "127.0.0.1",
      "--port",
      "8788",
      "--path",
      "/gmail-pubsub",
      "--token",
      "push-token-0123",
      "--hook-url",
      "http://127.0.0.1:4711/hooks/gmail",
      "--hook-token",
      "hook-token-0123",
      "--include-body",
      "--max-bytes",
      "20000",
    ],
  });
  const own = {
    label: "Work",
    subscription: "sub",
    hookUrl: "http://127.0.0.1:1/x",
    includeBody: false,
    maxBytes: 5,
    renewEveryMinutes: 1,
    serve: { bind: "127.0.0.2", port: 1234 },
    tailscale: { mode: "funnel", path: "/mail" },
  };
  expect(planOf({ ...GMAIL, ...own })).toMatchObject({
    start: expect.arrayContaining(["Work"]),
    renewMs: 60_000,
    tailscale: ["tailscale", "funnel", "--bg", "--set-path", "/mail", "--yes", "1234"],
    serve: [
      ...watch,
      "serve",
      "--account",
      "ada@example.org",
      "--bind",
      "127.0.0.2",
      "--port",
      "1234",
      "--path",
      "/",
      "--token",
      "push-token-0123",
      "--hook-url",
      "http://127.0.0.1:1/x",
      "--hook-token",
      "hook-token-0123",
      "--max-bytes",
      "5",
    ],
  });
  const named = { ...own, serve: { path: "/own" }, tailscale: { mode: "serve", target: "8080" } };
  expect(planOf({ ...GMAIL, ...named })).toMatchObject({
    tailscale: ["tailscale", "serve", "--bg", "--set-path", "/gmail-pubsub", "--yes", "8080"],
    serve: expect.arrayContaining(["/own"]),
  });
});

test("the watch is registered, served and renewed, with none of the gateway's keys, until the gateway stops", async () => {
  const { watcher, gog, clock, stop, served, started } = watching("");
  watcher.follow();
  watcher.follow();
  await vi.waitUntil(() => served() === 1, 20_000);
  expect(started()).toBe(1);
  expect(gog.calls()[0]?.env).toContain("GOG_ACCOUNT");
  expect(gog.calls()[0]?.env).not.toContain("OPENAI_API_KEY");
  await vi.waitUntil(() => clock.waits.includes(43_200_000), PATIENCE);
  clock.pass(43_200_000);
  await vi.waitUntil(() => started() === 2, 20_000);
  stop.abort();
  await vi.waitUntil(() => clock.waits.length === 0, 20_000);
  expect(served()).toBe(1);
});

test("a watcher that ends is started again, later each time", async () => {
  const { watcher, clock, log, served } = watching("process.exit(3);");
  watcher.follow();
  await vi.waitUntil(() => log.lines.includes("warn mail watcher ended"), 20_000);
  await vi.waitUntil(() => clock.waits.some((ms) => ms >= 5000 && ms <= 10_000), PATIENCE);
  clock.pass(10_000);
  await vi.waitUntil(() => served() === 2, 20_000);
  expect(log.lines.filter((line) => line === "info mail watcher started")).toHaveLength(2);
});

test("a port that is taken is reported, and tried again: what holds it may end", async () => {
  const { watcher, clock, log, served } = watching(
    `console.error("listen tcp: address already in use"); process.exit(1);`,
  );
  watcher.follow();
  await vi.waitUntil(() => log.lines.some((line) => line.includes("port is taken")), 20_000);
  await vi.waitUntil(() => clock.waits.some((ms) => ms >= 5000 && ms <= 10_000), PATIENCE);
  clock.pass(10_000);
  await vi.waitUntil(() => served() === 2, 20_000);
  expect(log.lines).not.toContain("warn mail watcher ended");
});

test("a change of the config ends the old watcher and begins the new one", async () => {
  const { watcher, place, log, served } = watching("");
  watcher.follow();
  await vi.waitUntil(() => served() === 1, 20_000);
  place.plan = planOf({ ...GMAIL, label: "Work" });
  watcher.follow();
  await vi.waitUntil(() => served() === 2, 20_000);
  place.plan = planOf({ account: "ada@example.org" });
  watcher.follow();
  expect(log.lines.at(-1)).toBe("warn mail is not watched");
});
