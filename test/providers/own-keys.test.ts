import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Credentials } from "../../src/providers/auth/credentials.ts";
import { createModels } from "../../src/providers/catalog.ts";
import { authConfig } from "../../src/providers/config.ts";
import { Secret } from "../../src/types/secret.ts";
import { silentLog, stoppedClock } from "./stage.ts";

const REF = { provider: "acme", id: "m" };
const acme = { baseUrl: "https://models.example/v1", api: "openai-completions", models: [{ id: "m" }] };

interface Keys {
  readonly shared?: Readonly<Record<string, string>>;
  readonly owl?: Readonly<Record<string, string>>;
  readonly order?: readonly string[];
}

async function modelsWith({ shared = {}, owl = {}, order }: Keys) {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-own-keys-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const stored = async (name: string, keys: Readonly<Record<string, string>>) => {
    const credentials = new Credentials(join(dir, name));
    for (const [id, key] of Object.entries(keys))
      await credentials.put(id, { type: "api_key", provider: "acme", key: new Secret(key) });
    return credentials;
  };
  const own = await stored("owl", owl);
  const models = createModels({
    providers: { acme },
    env: {},
    probeLocal: false,
    auth: authConfig.parse(order ? { order: { acme: order } } : {}),
    credentials: await stored("shared", shared),
    ownCredentials: (agent) => (agent === "owl" ? own : undefined),
    clock: stoppedClock(),
    log: silentLog().log,
  });
  const idsOf = async (agent: string) =>
    (await models.of(agent).keys.order(REF, {})).map(({ profile, state }) => `${profile.id} ${state.kind}`);
  const keyOf = async (agent: string) => {
    const found = await models.of(agent).find(REF);
    return "missing" in found ? found.missing : found.apiKey;
  };
  return { models, own, idsOf, keyOf };
}

test("an agent's own keys come first, then those of all agents; other agents never get them", async () => {
  const { idsOf, keyOf, own } = await modelsWith({ shared: { "acme:all": "s" }, owl: { "acme:owl": "o" } });
  expect(await idsOf("owl")).toEqual(["acme:owl ready", "acme:all ready"]);
  expect(await idsOf("main")).toEqual(["acme:all ready"]);
  expect(await keyOf("owl")).toBe("o");
  expect(await keyOf("main")).toBe("s");
  await own.remove("acme:owl");
  expect(await keyOf("owl")).toBe("s");
});

test("a cooldown of an own key is none of another agent's key with the same id", async () => {
  const { models, idsOf, keyOf } = await modelsWith({ shared: { "acme:default": "s" }, owl: { "acme:default": "o" } });
  expect(await idsOf("owl")).toEqual(["acme:default ready"]);
  expect(await keyOf("owl")).toBe("o");
  models.of("owl").keys.failed(REF, "acme:default", { kind: "rate_limit" });
  expect(await idsOf("owl")).toEqual(["acme:default cooling"]);
  expect(await idsOf("main")).toEqual(["acme:default ready"]);
});

test("a cooldown of a shared key holds for every agent", async () => {
  const { models, idsOf } = await modelsWith({ shared: { "acme:all": "s" }, owl: { "acme:owl": "o" } });
  await idsOf("owl");
  models.of("owl").keys.failed(REF, "acme:all", { kind: "rate_limit" });
  expect(await idsOf("main")).toEqual(["acme:all cooling"]);
  expect(await idsOf("owl")).toEqual(["acme:owl ready", "acme:all cooling"]);
});

test("auth.order is about the keys of all agents; the own file has its own order", async () => {
  const shared = { "acme:a": "a", "acme:b": "b" };
  const { idsOf, own } = await modelsWith({
    shared,
    owl: { "acme:x": "x", "acme:y": "y" },
    order: ["acme:b"],
  });
  await own.setOrder("acme", ["acme:y"]);
  expect(await idsOf("owl")).toEqual(["acme:y ready", "acme:b ready"]);
  expect(await idsOf("main")).toEqual(["acme:b ready"]);
});
