import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type FakeModel, startFakeModel } from "../../../fakes/model.ts";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { until } from "../../../kit/until.ts";

const ADA = 1001;
const FIELD_KEY = "agent:main:telegram:direct:1001";

let model: FakeModel;
let fixture: GatewayFixture;
let client: RawClient;
beforeAll(async () => {
  model = await startFakeModel();
  model.answer(({ said }) => ({
    text: said.includes("[cron:") ? `news of ${/\[cron:\S+ (\w+)/.exec(said)?.[1]}` : "hi",
  }));
  fixture = await startGatewayFixture({ dmPolicy: "pairing" }, model.url);
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
  await model.close();
});

const ask = (method: string, params: object = {}) => client.ask(method, params);

const say = (text: string) => fixture.telegram.say(text, { from: { id: ADA, first_name: "Ada" } });
const shown = () => fixture.telegram.shown(ADA);

/** Adds a job that nothing but `run` starts. */
async function job(name: string, more: object): Promise<string> {
  const schedule = { kind: "at", at: "2099-01-01T00:00:00Z" };
  const added = await ask("cron.add", { name, schedule, payload: { kind: "agentTurn", message: "look" }, ...more });
  return z.string().parse(added["id"]);
}

/** Runs a job and gives the record of that run. */
async function run(id: string): Promise<unknown> {
  const records = async () => z.array(z.looseObject({})).parse((await ask("cron.runs", { id }))["entries"]);
  const before = (await records()).length;
  await ask("cron.run", { id });
  await until(async () => (await records()).length > before, "the end of the run");
  return (await records())[0];
}

test("who was put out gets no answers of jobs any more, and the run says why", async () => {
  say("let me in");
  await until(() => shown().length === 1, "the code");
  await ask("pairing.approve", { channel: "telegram", code: String(ADA) });
  await ask("owners.add", { channel: "telegram", senderId: String(ADA) });
  say("hello");
  await until(() => shown().includes("hi"), "the answer");

  const jobs = [
    await job("last", { delivery: { mode: "announce", channel: "telegram" } }),
    await job("home", { sessionKey: FIELD_KEY, delivery: { mode: "announce" } }),
    await job("reminder", {
      sessionKey: FIELD_KEY,
      sessionTarget: "main",
      payload: { kind: "systemEvent", text: "the tea" },
    }),
  ];
  const anywhere = await job("anywhere", { delivery: { mode: "announce" } });
  for (const id of [...jobs, anywhere]) {
    const before = shown().length;
    expect(await run(id)).toMatchObject({ status: "ok" });
    await until(() => shown().length > before, "the answer of the job");
  }

  await ask("pairing.revoke", { channel: "telegram", senderId: String(ADA) });
  await ask("owners.remove", { entry: `telegram:${ADA}` });
  const before = shown();
  for (const id of jobs)
    expect(await run(id)).toMatchObject({
      status: "error",
      error: expect.stringContaining(`the person of telegram:${ADA} may not write to the agent any more`),
    });
  // The operator's own page is the other chat of a job that names none.
  expect(await run(anywhere)).toMatchObject({ status: "ok" });
  expect(shown()).toEqual(before);

  await ask("owners.add", { channel: "telegram", senderId: String(ADA) });
  for (const id of jobs) expect(await run(id)).toMatchObject({ status: "ok" });
});

test("a person whom allowFrom names by the username stays one who may write", async () => {
  await fixture.cli("config", "set", "channels.telegram.allowFrom", '["@bea"]');
  await ask("secrets.reload");
  const bea = { id: 1002, first_name: "Bea", username: "bea" };
  // The account may be opened again with its new settings meanwhile.
  fixture.telegram.say("hello", { from: bea });
  await until(() => fixture.telegram.shown(bea.id).includes("hi"), "the answer");
  const home = { sessionKey: `telegram:default:${bea.id}`, delivery: { mode: "announce" } };
  const id = await job("hers", home);
  expect(await run(id)).toMatchObject({ status: "ok", deliveryStatus: "delivered" });
  await fixture.cli("config", "set", "channels.telegram.allowFrom", '["@cleo"]');
  await ask("secrets.reload");
  expect(await run(id)).toMatchObject({
    status: "error",
    error: expect.stringContaining(`the person of telegram:${bea.id} may not write`),
  });
});
