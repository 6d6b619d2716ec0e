import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../kit/until.ts";
import type { RawClient } from "../../kit/server/server.ts";
import { startGatewayFixture, type GatewayFixture } from "../../kit/gateway/in-process.ts";

let fixture: GatewayFixture;
let client: RawClient;
beforeAll(async () => {
  fixture = await startGatewayFixture({ enabled: false, botToken: undefined });
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
});

const answer = z.looseObject({
  ok: z.boolean(),
  payload: z.unknown().optional(),
  error: z
    .looseObject({
      code: z.string(),
      message: z.string(),
      details: z.looseObject({ code: z.string(), field: z.string().optional() }).optional(),
    })
    .optional(),
});
const ask = async (method: string, params: object) => answer.parse(await client.request(method, params));
const refusal = async (method: string, params: object) => {
  const { error } = await ask(method, params);
  return [error?.details?.field, error?.message];
};
const state = async (account: string) =>
  new RegExp(`telegram +${account} +(\\w+)`).exec((await fixture.cli("channels", "status")).out)?.[1];
const is = (account: string, wanted: string | undefined) =>
  until(async () => (await state(account)) === wanted, `${account} ${wanted}`);

test("a form receives the fields of each channel, and which of them are secret", async () => {
  const { payload } = await ask("channels.setups", {});
  const { channels } = z
    .looseObject({ channels: z.array(z.looseObject({ channel: z.string(), fields: z.array(z.unknown()) })) })
    .parse(payload);
  expect(channels.map(({ channel }) => channel)).toEqual(["discord", "signal", "slack", "telegram", "whatsapp"]);
  expect(channels.find(({ channel }) => channel === "slack")?.fields).toEqual([
    { name: "botToken", label: "Bot token (xoxb-…)", secret: true, required: true, env: "SLACK_BOT_TOKEN" },
    {
      name: "appToken",
      label: "App token (xapp-…), for Socket Mode",
      secret: true,
      required: false,
      env: "SLACK_APP_TOKEN",
    },
    { name: "secret", label: "Signing secret, for the Events API", secret: true, required: false },
    { name: "tokenFile", label: "File with the token, on the gateway's machine", secret: false, required: false },
  ]);
});

test.each([
  [{ channel: "irc" }, [undefined, expect.stringContaining('There is no channel "irc"')]],
  [{ channel: "telegram" }, ["token", "Bot token, from @BotFather: it is missing."]],
  [{ channel: "telegram", values: { token: "  " } }, ["token", "Bot token, from @BotFather: it is missing."]],
  [
    { channel: "telegram", accountId: "../x", values: { token: "1:a" } },
    ["accountId", "Use letters, digits, - and _."],
  ],
  [{ channel: "telegram", useEnv: true }, ["useEnv", expect.stringContaining("TELEGRAM_BOT_TOKEN is not set")]],
  [{ channel: "discord", values: { tokenFile: "/nowhere/at/all" } }, ["tokenFile", expect.stringContaining("ENOENT")]],
  [{ channel: "signal", values: { signalNumber: "12" } }, ["signalNumber", expect.stringContaining("country code")]],
  [{ channel: "signal", values: { httpUrl: "nowhere" } }, ["httpUrl", expect.stringMatching(/^[A-Z].*\.$/)]],
  [{ channel: "signal", values: { token: "x" } }, [undefined, expect.stringContaining("no flag --token")]],
])("%j is refused beside its field and changes nothing", async (params, expected) => {
  const before = fixture.config();
  expect(await refusal("channels.add", params)).toEqual(expected);
  expect(fixture.config()).toBe(before);
});

test("an account is added, comes up, is switched off and on and taken out; comments and the others stay", async () => {
  const path = join(fixture.dir, "openclaw.json");
  writeFileSync(path, readFileSync(path, "utf8").replace("{", "{\n  // mine"));
  const { token } = fixture.telegram;
  const added = await ask("channels.add", { channel: "telegram", values: { token } });
  expect(added.payload).toEqual({ ok: true, channel: "telegram", accountId: "default", restartNeeded: false });
  await is("default", "running");
  expect(fixture.config()).toContain("// mine");

  expect(await refusal("channels.add", { channel: "telegram", values: { token } })).toEqual([
    "accountId",
    "There is an account default already: give this one another name.",
  ]);
  await ask("channels.enable", { channel: "telegram", accountId: "default", enabled: false });
  await is("default", undefined);
  await ask("channels.add", { channel: "telegram", accountId: "work", values: { token } });
  await is("work", "running");
  expect(await state("default")).toBe("off");

  await ask("channels.enable", { channel: "telegram", accountId: "work", enabled: false });
  await is("work", "off");
  await ask("channels.remove", { channel: "telegram", accountId: "work" });
  expect(fixture.config()).not.toContain("work");
  expect(await refusal("channels.remove", { channel: "telegram", accountId: "work" })).toEqual([
    undefined,
    "The config has no account work of telegram. It has: default.",
  ]);
});

test("changes that come at once are all in the file", async () => {
  const names = ["a", "b", "c", "d"];
  const { token } = fixture.telegram;
  const add = (accountId: string) => ask("channels.add", { channel: "telegram", accountId, values: { token } });
  await Promise.all(names.map(add));
  await Promise.all(
    names.map((accountId) => ask("channels.enable", { channel: "telegram", accountId, enabled: false })),
  );
  for (const account of names) await is(account, "off");
  const removed = await Promise.all(
    names.map((accountId) => ask("channels.remove", { channel: "telegram", accountId })),
  );
  expect(removed.map(({ payload }) => payload)).toEqual(
    names.map((accountId) => ({ ok: true, channel: "telegram", accountId, restartNeeded: false })),
  );
  for (const account of names) await is(account, undefined);
});

test("a token that was wrong is replaced where that is asked for", async () => {
  await ask("channels.add", { channel: "telegram", values: { token: "9:other" }, replace: true });
  expect(fixture.config()).toContain("9:other");
});

test("only who may change everything may set up channels", async () => {
  const reader = await fixture.client({ scopes: ["operator.read", "operator.write"] });
  for (const method of ["channels.add", "channels.remove", "channels.enable"]) {
    const { error } = answer.parse(await reader.request(method, { channel: "telegram", enabled: true }));
    expect([error?.code, error?.message]).toEqual(["FORBIDDEN", "missing scope: operator.admin"]);
  }
  reader.close();
});
