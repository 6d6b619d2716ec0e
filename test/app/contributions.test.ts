import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { connectGateway } from "../../src/app/cli/client.ts";
import { Live } from "../../src/app/live.ts";
import { loadConfig } from "../../src/app/config/load.ts";
import { makeStateDirs, resolvePaths } from "../../src/app/config/paths.ts";
import { contributedSchemas } from "../../src/app/contributions/extensions.ts";
import { type Gateway, startGateway } from "../../src/app/gateway/gateway.ts";
import { openLog } from "../../src/app/log/log.ts";
import { buildMemorySystemPromptAddition } from "../../src/api/core.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { defineTool, textResult } from "../../src/tools/define.ts";
import type { Check } from "../../src/types/check.ts";
import type { Contributor } from "../../src/types/contribution.ts";
import { defineMethod } from "../../src/types/method.ts";
import { Secret } from "../../src/types/secret.ts";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { run } from "../kit/gateway/cli.ts";

const TOKEN = "token-of-the-contributions";

let dir: string;
let model: FakeModel;
let gateway: Gateway | undefined;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "contributions-"));
  model = await startFakeModel();
});
afterEach(async () => {
  await gateway?.close(0);
  gateway = undefined;
  await model.close();
  rmSync(dir, { recursive: true, force: true });
});

/** One plugin that adds one thing of each kind which no other test here shows. */
function notebook(): Contributor & { readonly applied: unknown[] } {
  const applied: unknown[] = [];
  return {
    id: "notebook",
    applied,
    register(registry) {
      registry.addConfig({
        schema: async () => z.object({ title: z.string().default("Notes") }),
        apply: (value) => applied.push(value),
      });
      registry.addTool({
        name: "note",
        forRun: ({ agent, acting, files }) =>
          defineTool({
            name: "note",
            label: "Note",
            description: "Keeps a note in a file of the workspace.",
            input: z.object({ text: z.string() }),
            hasSideEffects: true,
            async run({ text }) {
              await files.replace({ path: "notes.txt", content: text }, agent.workspace);
              return textResult(`kept for ${acting.principal.kind}`);
            },
          }),
      });
      registry.addMethod(
        defineMethod({
          name: "notebook.count",
          scope: "operator.read",
          params: z.looseObject({}),
          result: z.looseObject({ notes: z.number() }),
          run: async () => ({ notes: 7 }),
        }),
      );
      registry.addCliCommand({
        name: "notes",
        define: (program, act) =>
          program
            .command("notes")
            .argument("<word>")
            .action(
              act(async (io, word: string) => {
                io.out(`${word}: 7\n`);
                return 3;
              }),
            ),
      });
      registry.addChecks({
        id: "notebook",
        checks: ({ config }) => [
          {
            id: "notebook",
            title: "Notebook",
            run: async () => [{ status: "warn", message: config === undefined ? "no config" : "seven notes" }],
          },
        ],
      });
      registry.addContextEngine("notebook", () => ({
        info: { id: "notebook", name: "Notebook", ownsCompaction: false },
        ingest: async () => ({ ingested: true }),
        assemble: async ({ messages }) => ({
          messages,
          estimatedTokens: 10,
          systemPromptAddition: "The notebook is open.",
        }),
        compact: async () => ({ ok: true, compacted: false }),
      }));
      registry.addMemory({ id: "notebook", prompt: () => ["Look into the notebook first."] });
      registry.addModelProvider({
        id: "acme",
        keyVariables: ["ACME_KEY"],
        settings: {
          baseUrl: model.url,
          apiKey: new Secret("key-of-acme"),
          api: "openai-completions",
          models: [{ id: "acme-1", contextWindow: 100_000, maxTokens: 4096 }],
        },
      });
    },
  };
}

it("one registration each adds a tool, method, command, check, config, engine, memory and provider to a gateway", async () => {
  const plugin = notebook();
  const contributions = new Contributions([plugin]);
  writeFileSync(
    join(dir, "openclaw.json"),
    JSON.stringify({
      gateway: { port: 0, auth: { token: TOKEN } },
      models: { mode: "replace" },
      agents: { defaults: { model: { primary: "acme/acme-1" }, heartbeat: { every: "0m" } } },
      logging: { level: "silent", consoleLevel: "silent" },
      tools: { allow: ["note", "read"] },
      plugins: { slots: { contextEngine: "notebook" }, entries: { notebook: { config: { title: "Mine" } } } },
    }),
  );
  const paths = resolvePaths({ OPENCLAW_STATE_DIR: dir });
  await makeStateDirs(paths);
  const schemas = await contributedSchemas(contributions);
  const load = () => loadConfig({ path: paths.configPath, env: {}, ...schemas });
  const log = openLog({ file: join(dir, "test.log"), level: "silent", consoleLevel: "silent", consoleStyle: "json" });
  const loaded = await load();
  expect(loaded.warnings.map(({ text }) => text)).toEqual([]);
  gateway = await startGateway(new Live(paths, dir, loaded, contributions), { log, load });
  expect(plugin.applied).toEqual([{ title: "Mine" }]);

  const url = `ws://127.0.0.1:${gateway.port}`;
  const client = await connectGateway({ url, token: new Secret(TOKEN), isElsewhere: false });
  expect(await client.call("notebook.count", {}, z.unknown())).toEqual({ notes: 7 });
  client.close();

  model.answer((call) =>
    call.isAfterTool ? { text: `done: ${call.toolText}` } : { tool: "note", args: { text: "milk" } },
  );
  const env = { OPENCLAW_STATE_DIR: dir, OPENCLAW_GATEWAY_TOKEN: TOKEN, OPENCLAW_GATEWAY_URL: url };
  const command = (...args: readonly string[]) => run(args, env, false, contributions);
  const answer = await command("agent", "--message", "keep milk");
  expect(answer.out).toContain("done: kept for owner");
  expect(model.calls.at(-1)!.model).toBe("acme-1");
  expect(model.calls.at(-1)!.system).toContain("The notebook is open.");
  expect(buildMemorySystemPromptAddition({ availableTools: new Set() })).toBe("Look into the notebook first.");

  expect(await command("notes", "count")).toEqual({ code: 3, out: "count: 7\n", err: "" });
  const doctor = await command("doctor", "--json");
  expect(doctor.out).toContain("seven notes");
});

it("the settings of a plugin are checked against its own schema", async () => {
  const pluginSchemas = await new Contributions([notebook()]).configSchemas();
  const path = join(dir, "openclaw.json");
  const loadOf = (entries: object) => {
    writeFileSync(path, JSON.stringify({ plugins: { entries } }));
    return loadConfig({ path, env: {}, pluginSchemas });
  };
  await expect(loadOf({ notebook: { config: { title: 7 } } })).rejects.toThrow("plugins.entries.notebook.config.title");
  const { warnings } = await loadOf({ other: { config: { any: 1 } } });
  expect(warnings.map(({ text }) => text).join()).toContain("no plugin of this name has settings");
});

it("settings that a plugin could not be given are problems of the config file", async () => {
  const path = join(dir, "openclaw.json");
  const given = async (schema: z.ZodType, entries: object) => {
    const plugin = new Contributions([
      {
        id: "strict",
        register: (registry) => registry.addConfig({ schema: async () => schema, apply: () => undefined }),
      },
    ]);
    writeFileSync(path, JSON.stringify({ plugins: { entries } }));
    const { config } = await loadConfig({ path, env: {}, pluginSchemas: await plugin.configSchemas() });
    plugin.applyConfig(config.plugins.entries, { stateDir: "/state", memorySlot: undefined });
  };
  const strict = z.strictObject({ title: z.string().default("Notes") });
  await expect(given(strict, { strict: { config: { titel: "x" } } })).rejects.toThrow(
    "plugins.entries.strict.config.titel: unknown to strict",
  );
  await expect(given(z.object({ title: z.string() }), {})).rejects.toThrow("plugins.entries.strict.config.title");
  await expect(
    given(
      z.unknown().transform(() => {
        throw new Error("boom");
      }),
      {},
    ),
  ).rejects.toThrow("plugins.entries.strict.config: the plugin could not check it");
  await given(strict, {});
  await given(z.null(), { strict: { config: null } });
});

it("a contribution cannot take the name of one of the gateway's own", async () => {
  const contributions = new Contributions([
    {
      id: "greedy",
      register(registry) {
        registry.addCliCommand({ name: "doctor", define: (program) => void program.command("doctor") });
      },
    },
  ]);
  await expect(run(["--help"], {}, false, contributions)).rejects.toThrow('the command "doctor" exists already');
});

it("checks that a contributor cannot make are a failure of the doctor, which shows all others", async () => {
  const broken: Contributor = {
    id: "broken",
    register: (registry) => registry.addChecks({ id: "broken", checks: () => expect.fail("no table of checks") }),
  };
  const { out, code } = await run(
    ["doctor", "--json"],
    { OPENCLAW_STATE_DIR: dir },
    false,
    new Contributions([broken]),
  );
  expect(code).toBe(1);
  expect(out).toContain("no table of checks");
  expect(out).toContain("app.config");
});

it("a repair that fails is a failure of the doctor, also when nothing else is", async () => {
  const repair = { describe: "mend", apply: () => Promise.reject(new Error("no")) };
  const check: Check = { id: "odd", title: "Odd", run: async () => [{ status: "warn", message: "odd", repair }] };
  const odd: Contributor = {
    id: "odd",
    register: (registry) => registry.addChecks({ id: "odd", checks: () => [check] }),
  };
  const args = ["doctor", "--only", "odd", "--yes"];
  const env = { OPENCLAW_STATE_DIR: dir };
  expect(await run(args, env, false, new Contributions([odd]))).toMatchObject({ code: 0 });
  const fixed = await run([...args, "--fix"], env, false, new Contributions([odd]));
  expect(fixed).toMatchObject({ code: 1, err: "mend\n  failed: no\n" });
});
