import { afterEach, beforeEach, expect, test } from "vitest";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { startFakeTelegram, type FakeTelegram } from "../fakes/telegram.ts";
import { makeHome, walkConfig, type Home } from "./gateway.ts";

let telegram: FakeTelegram;
let model: FakeModel;
let home: Home;

beforeEach(async () => {
  telegram = await startFakeTelegram();
  model = await startFakeModel();
  home = await makeHome(walkConfig(telegram, model));
});

afterEach(async () => {
  await home.remove();
  await telegram.close();
  await model.close();
});

test("a text gets its answer", async () => {
  const gateway = await home.start();
  telegram.say("good morning");
  const reply = await telegram.waitFor((call) => call.method === "sendMessage");
  expect(reply.text).toContain("good morning");
  expect(await gateway.kill("SIGTERM")).toBe(0);
});
