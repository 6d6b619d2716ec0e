import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type FakeModel, startFakeModel } from "../../../fakes/model.ts";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { until } from "../../../kit/until.ts";

const HOOK_TOKEN = "a-token-of-the-hooks-that-is-long-enough";

let model: FakeModel;
let fixture: GatewayFixture;
let client: RawClient;
beforeAll(async () => {
  model = await startFakeModel();
  fixture = await startGatewayFixture({}, model.url);
  const file = join(fixture.dir, "openclaw.json");
  const config: object = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...config, hooks: { enabled: true, token: HOOK_TOKEN } }));
  await fixture.restart();
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
  await model.close();
});

const ask = (method: string, params: object = {}) => client.ask(method, params);
const found = async (search: string) =>
  z.array(z.looseObject({ key: z.string() })).parse((await ask("sessions.list", { search }))["sessions"]);

test("the run of a job has the job's name from its beginning, also when the job has another one or is gone", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  model.answer(async () => {
    asked.resolve();
    await answer.promise;
    return { text: "Rain." };
  });
  const { id } = await ask("cron.add", {
    name: "Morning report",
    schedule: { kind: "at", at: "2099-01-01T00:00:00Z" },
    payload: { kind: "agentTurn", message: "How is the weather?" },
    delivery: { mode: "none" },
    sessionTarget: "isolated",
  });
  await ask("cron.run", { id });
  await asked.promise;
  const named = { classification: "cron", displayName: "Morning report" };
  expect(await found("morning report")).toMatchObject([{ ...named, hasActiveRun: true }]);
  answer.resolve();
  await until(async () => (await found("morning report"))[0]?.["hasActiveRun"] === false, "the end of the run");
  await ask("cron.update", { id, patch: { name: "Evening report" } });
  expect(await found("evening report")).toEqual([]);
  await ask("cron.remove", { id });
  const [row] = await found("morning report");
  expect(row).toMatchObject(named);
  expect(await ask("sessions.describe", { key: row?.key })).toMatchObject({ session: named });
});

test("a job that runs in a conversation of a person leaves its name", async () => {
  model.answer(() => ({ text: "It is tea time." }));
  const key = "webchat:default:tea";
  const { id } = await ask("cron.add", {
    name: "Tea",
    schedule: { kind: "at", at: "2099-01-01T00:00:00Z" },
    payload: { kind: "agentTurn", message: "Tell me" },
    delivery: { mode: "none" },
    sessionTarget: `session:${key}`,
  });
  await ask("cron.run", { id });
  await until(
    async () => z.array(z.unknown()).parse((await ask("cron.runs", { id }))["entries"]).length === 1,
    "the run",
  );
  expect((await found(key))[0]).not.toHaveProperty("displayName");
});

test("a conversation of requests of another program has the name that the program gave", async () => {
  model.answer(() => ({ text: "Seen." }));
  const response = await fetch(`${fixture.http}/hooks/agent`, {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ message: "build 7 failed", name: "Build server" }),
  });
  expect(response.ok).toBe(true);
  await until(async () => (await found("build server")).length === 1, "the conversation");
});
