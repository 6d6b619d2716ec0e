import { expect, test } from "vitest";
import { configSchema } from "../../src/app/config/schema/schema.ts";
import { PluginVariables } from "../../src/app/plugins/plugin-variables.ts";
import type { FoundPlugin } from "../../src/types/plugin/manifest.ts";
import type { Log } from "../../src/types/log.ts";
import { recordLog } from "../kit/log.ts";

const found = (id: string): FoundPlugin => ({
  manifest: {
    id,
    kinds: [],
    configSchema: {},
    skills: [],
    hooks: [],
    channels: [],
    providers: [],
    cliCommands: [],
    legacyIds: [],
  },
  package: { entries: ["index.js"], dependencies: [], installScripts: [] },
  root: `/plugins/${id}`,
  origin: "global",
  engines: [],
});

const loaded = (entries: Readonly<Record<string, object>>) => ({
  config: configSchema.parse({ plugins: { entries } }),
  plugins: { plugins: Object.keys(entries).map(found), broken: [] },
});

const OWN = { HOME: "/home/me", TAKEN: "mine" };

test("a plugin's variables are there while it is on, and go with it", () => {
  const env: Record<string, string | undefined> = { ...OWN };
  const variables = new PluginVariables(recordLog(), env);
  const entry = { enabled: true, env: { TOY_LEVEL: "high", TOY_KEY: "secret" } };
  variables.follow(loaded({ toy: entry, off: { enabled: false, env: { OFF: "1" } } }));
  expect(env).toEqual({ ...OWN, TOY_LEVEL: "high", TOY_KEY: "secret" });
  variables.follow(loaded({ toy: { enabled: true, env: { TOY_LEVEL: "low" } } }));
  expect(env).toEqual({ ...OWN, TOY_LEVEL: "low" });
  env["TOY_LEVEL"] = "changed by the plugin";
  variables.follow(loaded({ toy: { ...entry, enabled: false } }));
  expect(env).toEqual({ ...OWN, TOY_LEVEL: "changed by the plugin" });
});

test("they replace no variable of the gateway or of another plugin, and the log says so once", () => {
  const env: Record<string, string | undefined> = { ...OWN };
  const told: unknown[] = [];
  const log: Log = { ...recordLog(), warn: (_text, fields) => void told.push([fields?.["key"], fields?.["why"]]) };
  const variables = new PluginVariables(log, env);
  const refused = { TAKEN: "theirs", NODE_OPTIONS: "--x", LD_PRELOAD: "x.so", OPENCLAW_GATEWAY_TOKEN: "x", HOME: "/" };
  const entries = {
    toy: { enabled: true, env: { ...refused, SHARED: "a" } },
    two: { enabled: true, env: { SHARED: "b" } },
  };
  for (const _ of [1, 2]) variables.follow(loaded(entries));
  expect(env).toEqual({ ...OWN, SHARED: "a" });
  expect(told).toEqual([
    ["plugins.entries.toy.env.TAKEN", "the gateway's environment has it already"],
    ["plugins.entries.toy.env.NODE_OPTIONS", "it is a variable of the gateway itself"],
    ["plugins.entries.toy.env.LD_PRELOAD", "it is a variable of the gateway itself"],
    ["plugins.entries.toy.env.OPENCLAW_GATEWAY_TOKEN", "it is a variable of the gateway itself"],
    ["plugins.entries.toy.env.HOME", "the gateway's environment has it already"],
    ["plugins.entries.two.env.SHARED", "the plugin toy sets it to another value"],
  ]);
});
