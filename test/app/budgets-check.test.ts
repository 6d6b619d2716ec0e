import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { configSchema } from "../../src/app/config/schema/schema.ts";
import { budgetsCheck } from "../../src/app/doctor/budgets-check.ts";
import { Credentials } from "../../src/providers/auth/credentials.ts";

const examine = (budgets: object, cost?: object, more: object = {}) => {
  const dir = mkdtempSync(`${tmpdir()}/oc-check-`);
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const models = [{ id: "one", ...(cost && { cost }) }];
  const config = configSchema.parse({
    budgets,
    ...more,
    agents: { defaults: { model: { primary: "mine/one" } } },
    models: {
      providers: { mine: { baseUrl: "http://127.0.0.1:1/v1", apiKey: "x", api: "openai-completions", models } },
    },
  });
  const options = { env: { HOME: dir }, credentials: new Credentials(dir), contributed: async () => [] };
  return budgetsCheck(config, options).run(new AbortController().signal);
};

const FREE = { input: 0, output: 0 };

test("a limit in money names the models whose price is not known, and says what to do", async () => {
  const [found] = await examine({ day: { money: 1 } });
  expect(found).toMatchObject({
    status: "warn",
    message: "The price of mine/one is not known, so budgets.day refuses it.",
  });
  expect(await examine({ day: { money: 1 } }, FREE)).toEqual([{ status: "ok", message: "Budgets: budgets.day" }]);
  expect(await examine({ day: { money: 1, tokens: 5 } })).toMatchObject([{ status: "ok" }]);
});

test("a currency without its rate is a failure", async () => {
  const [found] = await examine({ currency: "EUR", day: { money: 1 } }, FREE);
  expect(found).toMatchObject({ status: "fail", fix: expect.stringContaining("budgets.usdPerUnit") });
  expect(await examine({ currency: "EUR", usdPerUnit: 1.1, day: { money: 1 } }, FREE)).toMatchObject([
    { status: "ok" },
  ]);
});

test("a smaller model that cannot answer is found", async () => {
  const day = { tokens: 1 };
  expect(await examine({ day, soft: { model: "one" } })).toMatchObject([{ status: "fail" }]);
  expect(await examine({ day, soft: { model: "nobody/none" } })).toMatchObject([
    { status: "warn", message: expect.stringMatching(/^The smaller model nobody\/none cannot answer: /) },
  ]);
  expect(await examine({ day, soft: { model: "mine/one" } })).toMatchObject([{ status: "ok" }]);
});

test("services that write down or speak without a price are named, those of this machine are not", async () => {
  const services = (at: string, prices: readonly [object, object] = [{}, {}]) => ({
    audio: { transcription: { baseUrl: `${at}/v1`, ...prices[0] } },
    messages: { tts: { providers: { voice: { baseUrl: `${at}/v1`, ...prices[1] }, own: { command: ["say"] } } } },
  });
  const far = await examine({ day: { money: 1 } }, FREE, services("https://speech.example"));
  expect(far.map(({ fix }) => /Set (\S+)/.exec(fix ?? "")?.[1])).toEqual([
    "audio.transcription.costPerMinute",
    "messages.tts.providers.voice.costPerMillionChars",
  ]);
  const near = await examine({ day: { money: 1 } }, FREE, services("http://127.0.0.1:1"));
  const priced = services("https://speech.example", [{ costPerMinute: 1 }, { costPerMillionChars: 1 }]);
  for (const found of [near, await examine({ day: { money: 1 } }, FREE, priced)])
    expect(found).toMatchObject([{ status: "ok" }]);
});
