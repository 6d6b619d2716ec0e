import { join } from "node:path";
import { describe } from "vitest";
import { z } from "zod";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { ask } from "../../kit/gateway/rpc.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { until } from "../../kit/until.ts";

const KEY = "acme-secret-key-0123456789";

/** A provider in the form that plugins of the field have; its server is at `ACME_URL`. */
const code = (more = "") => `
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
export default definePluginEntry({
  id: "acme",
  register(api) {
    api.registerModelCatalogProvider({ provider: "acme", kinds: ["text"] });
    api.registerProvider({
      id: "acme",
      label: "Acme",
      docsPath: "/providers/acme",
      aliases: ["ac"],
      envVars: ["ACME_API_KEY"],
      auth: [{ id: "api-key", label: "API key", kind: "api_key", run: async () => ({ profiles: [] }) },
        { id: "browser", label: "Browser", kind: "oauth", run: async () => ({ profiles: [] }) }],
      catalog: {
        order: "simple",
        run: async (ctx) => {
          const { apiKey } = ctx.resolveProviderApiKey("acme");
          if (!apiKey) return null;
          return { provider: { baseUrl: process.env.ACME_URL, apiKey, api: "openai-completions", models: [
            { id: "acme-large", name: "Acme Large", reasoning: false, input: ["text"],
              cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }, contextWindow: 50000, maxTokens: 2048 },
            { id: "acme-custom", name: "Acme Custom", api: "acme-wire", reasoning: false, input: ["text"],
              cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }, contextWindow: 50000, maxTokens: 2048 },
          ] } };
        },
      },
      isCacheTtlEligible: () => true,
      ${more}
    });
  },
});`;

interface Setting {
  readonly more?: string;
  readonly config?: Record<string, unknown>;
  readonly env?: Record<string, string>;
}

async function startWith(world: World, { more, config, env = { ACME_API_KEY: KEY } }: Setting = {}) {
  const home = await world.home(
    world.config({
      channels: { telegram: { enabled: false } },
      plugins: { entries: { acme: { enabled: true } } },
      agents: { defaults: { model: { primary: "acme/acme-large" } } },
      ...config,
    }),
  );
  const files = { id: "acme", manifest: { providers: ["acme"] }, code: code(more) };
  writePlugin(join(home.stateDir, "extensions"), files);
  const environment = { ACME_URL: world.model.url, ...env };
  const gateway = await home.start({ env: environment });
  return { home, gateway, env: environment };
}

const listed = z.object({ models: z.array(z.looseObject({ id: z.string(), provider: z.string() })) });
const namesIn = (json: string) => listed.parse(JSON.parse(json)).models.map(({ provider, id }) => `${provider}/${id}`);

describe.concurrent("a provider of a plugin", () => {
  test("brings models that answer, that are listed, and whose key nobody sees", async ({ world, expect }) => {
    const { home, gateway, env } = await startWith(world);
    world.model.answer((call) => ({ text: `${call.model} read: ${call.said}` }));
    expect(await ask(home, "hello")).toContain("acme-large read: hello");
    expect(JSON.stringify({ ...world.model.calls[0], key: undefined })).not.toContain(KEY);
    expect(namesIn((await home.run(["models", "list", "--json"])).stdout)).toContain("acme/acme-large");
    const shown = (await home.run(["plugins", "inspect", "acme", "--runtime"])).stdout;
    expect(shown).toMatch(/providers +acme/);
    expect(shown).toMatch(/never called +registerModelCatalogProvider, registerProvider.isCacheTtlEligible/);
    expect(shown).toMatch(/not available here +registerProvider.auth \(browser: oauth\)/);
    expect(gateway.output + shown + (await home.run(["models", "status"], env)).stdout).not.toContain(KEY);
    await gateway.kill();
    expect(namesIn((await home.run(["models", "list", "--json"], env)).stdout)).toContain("acme/acme-large");
    expect((await home.run(["doctor", "--only", "model", "--json"], env)).stdout).toContain("main: acme/acme-large");
  });

  test("leaves failures to the usual remedies, also those that only it understands", async ({ world, expect }) => {
    const more = `
      classifyFailoverReason: ({ errorMessage }) => /quota of the moon/.test(errorMessage) ? "billing" : undefined,
      wrapStreamFn: ({ streamFn }) => (model, context, options) => {
        if (model.id === "acme-custom") throw new Error("the plugin broke");
        return streamFn(model, context, options);
      },`;
    const model = { primary: "acme/acme-custom", fallbacks: ["acme/acme-large", "fake/fake-1"] };
    const { home, gateway } = await startWith(world, { more, config: { agents: { defaults: { model } } } });
    world.model.answer((call) =>
      call.model === "acme-large" ? { status: 400, message: "quota of the moon" } : { text: `${call.model} helps` },
    );
    expect(await ask(home, "hello")).toContain("fake-1 helps");
    const attempts = gateway.lines.map((line) => JSON.stringify(line)).join("\n");
    expect(attempts).toContain("the plugin broke");
    expect(attempts).toContain('"billing"');
  });

  test("is gone when the plugin is disabled, and a plain sentence says so", async ({ world, expect }) => {
    const { home, gateway } = await startWith(world);
    const gate = Promise.withResolvers<void>();
    world.model.answer(() => ({ text: "a slow answer", until: gate.promise }));
    const slow = ask(home, "slowly");
    await world.model.called(1);
    await home.run(["config", "set", "plugins.entries.acme.enabled", "false"]);
    await gateway.logged("plugin unloaded");
    gate.resolve();
    expect(await slow).toContain("a slow answer");
    const { stdout, stderr } = await home.run(["agent", "--message", "hello"]);
    const told = `${stdout}${stderr}${JSON.stringify(gateway.lines)}`;
    expect(told).toContain("comes with the plugin acme, which is not loaded: plugins.entries.acme.enabled is false");
    await home.run(["config", "set", "plugins.entries.acme.enabled", "true"]);
    await until(async () => (await ask(home, "hello")).includes("a slow answer"));
  });
});
