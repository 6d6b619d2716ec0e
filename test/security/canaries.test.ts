import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { schemaKeys } from "../../src/app/config/keys/schema-keys.ts";
import { connectGateway } from "../../src/app/cli/client.ts";
import { Secret } from "../../src/types/secret.ts";
import { type Home, TOKEN } from "../kit/gateway/process.ts";
import { inboxOf, outcomesOf } from "../kit/gateway/state-files.ts";
import { test } from "../kit/gateway/world.ts";

const OWNER = { from: { id: 42 } };

/** Values that nobody may see again outside the files that hold them; each is told apart by its name. */
class Canaries {
  readonly values: string[] = [];

  make(name: string, prefix = ""): string {
    const value = `${prefix}CANARY-${name.replaceAll(/\W+/g, "-")}-q7Zk2+9/x`;
    this.values.push(value);
    return value;
  }

  /** As a careless server quotes one that it was sent. */
  echo(at: number): string {
    const value = this.values[at] ?? "";
    const encoded = [value, `user:${value}`].map((text) => Buffer.from(text).toString("base64"));
    return [value, encodeURIComponent(value), ...encoded].join(" ");
  }

  /** The names of those that a text has in it, in any form. */
  in(text: string): readonly string[] {
    const decoded = (text.match(/[A-Za-z0-9+/_-]{16,}/g) ?? []).map((part) => Buffer.from(part, "base64").toString());
    const all = [text, text.replaceAll("\\/", "/"), ...decoded].join("\n");
    return this.values.filter((value) => all.includes(value) || all.includes(encodeURIComponent(value)));
  }
}

/** The keys of the schema whose values are secrets. */
const secretKeys = schemaKeys()
  .filter(({ node }) => /"source".*"env"/.test(JSON.stringify(node["anyOf"] ?? "")))
  .map(({ path }) => path.join("."));

/** Every secret key of the schema, and places of which the schema knows no type. */
function configWith(canaries: Canaries, model: { url: string }) {
  const canary = (name: string) => canaries.make(name);
  const off = { enabled: false };
  const remote = (name: string) => ({
    provider: "x",
    model: "m",
    remote: { baseUrl: model.url, apiKey: canary(`${name}.key`), headers: { "x-tenant": canary(`${name}.header`) } },
  });
  return {
    agents: {
      defaults: { memorySearch: remote("memorySearch") },
      list: [{ id: "main", default: true, memorySearch: remote("own.memorySearch") }],
    },
    gateway: { port: 0, auth: { token: TOKEN, password: canary("gateway.auth.password") } },
    tools: {
      exec: { security: "full" },
      web: { search: { apiKey: canary("tools.web.search.apiKey"), ...searchKeys(canary) } },
    },
    commands: { ownerAllowFrom: ["42"] },
    env: { vars: { ANY_NAME: canary("env.vars") } },
    skills: { entries: { tidy: { env: { TIDY_KEY: canary("skills.env") }, apiKey: canary("skills.apiKey") } } },
    audio: {
      transcription: { baseUrl: "http://127.0.0.1:1", model: "m", apiKey: canary("audio.transcription.apiKey") },
    },
    messages: {
      tts: { providers: { x: { baseUrl: "http://127.0.0.1:1", apiKey: canary("messages.tts.providers") } } },
    },
    cron: { webhookToken: canary("cron.webhookToken") },
    hooks: {
      token: canary("hooks.token"),
      gmail: { pushToken: canary("hooks.gmail") },
      internal: { entries: { watcher: { enabled: false, env: { TIDE_KEY: canary("hooks.env") } } } },
      mappings: [{ match: { path: "x" }, verify: { header: "h", secret: canary("hooks.verify") } }],
    },
    models: {
      providers: {
        fake: {
          baseUrl: model.url,
          apiKey: canary("models.providers.apiKey"),
          headers: { "x-tenant": canary("models.providers.headers"), Authorization: `Bearer ${canary("bearer")}` },
        },
        other: {
          baseUrl: `http://user:${encodeURIComponent(canary("baseUrl"))}@127.0.0.1:1/v1`,
          apiKey: "${MAIN_LLM}",
          models: [{ id: "m" }],
        },
      },
    },
    channels: {
      telegram: {
        accessKey: canary("accessKey"),
      },
      slack: { ...off, botToken: canaries.make("botToken", "xoxb-"), appToken: canaries.make("appToken", "xapp-") },
      discord: {
        ...off,
        token: canary("discord"),
        pat: canary("pat"),
        proxy: `http://u:${encodeURIComponent(canary("proxy"))}@127.0.0.1:1`,
      },
      signal: {
        ...off,
        account: "+15550001111",
        httpUrl: `http://u:${encodeURIComponent(canary("signal"))}@127.0.0.1:1`,
      },
    },
    mcp: {
      servers: {
        // It prints what it was given, and fails.
        loud: {
          command: "sh",
          args: ["-c", 'echo "$0 $KEY"; echo "$0 $KEY" >&2; exit 1', { source: "env", id: "MCP_ARGUMENT" }],
          env: { KEY: canary("mcp.env") },
        },
        far: { url: "http://127.0.0.1:1/mcp", headers: { Authorization: `Bearer ${canary("mcp.headers")}` } },
      },
    },
    plugins: { entries: { p: { env: { ANY: canary("plugin.env") }, apiKey: "${PLUGIN_KEY}" } } },
  };
}

/** A key of each provider that searches the web. */
const searchKeys = (canary: (name: string) => string) =>
  Object.fromEntries(SEARCH_PROVIDERS.map((id) => [id, { apiKey: canary(`tools.web.search.${id}.apiKey`) }]));
const SEARCH_PROVIDERS = "brave minimax gemini grok kimi perplexity firecrawl exa tavily ollama".split(" ");

/** The config, and its copies that no tool can read. */
const OF_CONFIG = /openclaw\.json|^last-valid-config\.json$/;

/** Everything in the state directory but the config and the credentials. */
function filesOf(dir: string): readonly (readonly [string, string])[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((file) => file.isFile() && !OF_CONFIG.test(file.name) && !file.parentPath.includes("credentials"))
    .map((file) => [file.name, readFileSync(join(file.parentPath, file.name), "latin1")] as const);
}

async function shownBy(home: Home, env: Record<string, string>): Promise<readonly (readonly [string, string])[]> {
  const commands = [
    ["status", "--json"],
    ["doctor", "--json"],
    ["config", "get", "models"],
    ["config", "get", "channels"],
    ["config", "get", "plugins", "--json"],
    ["config", "get", "env"],
    ["config", "get", "mcp"],
    ["mcp", "list"],
    ["mcp", "probe"],
    ["config", "get", "tools"],
    ["config", "get", "cron"],
    ["config", "get", "hooks"],
    ["models", "status"],
    ["runs", "--json"],
    ["inbox", "list"],
    ["why"],
  ];
  return Promise.all(
    commands.map(async (args) => {
      const { stdout, stderr } = await home.run(args, env);
      return [`openclaw ${args.join(" ")}`, stdout + stderr] as const;
    }),
  );
}

async function configShown(port: number): Promise<string> {
  const client = await connectGateway({ url: `ws://127.0.0.1:${port}`, token: new Secret(TOKEN), isElsewhere: true });
  try {
    return JSON.stringify([
      await client.call("config.get", {}, z.unknown()),
      await client.call("status", {}, z.unknown()),
    ]);
  } finally {
    client.close();
  }
}

test("no secret of the config leaves it, though a provider repeats them all", async ({ world, expect }) => {
  expect(secretKeys).toEqual([
    "gateway.auth.token",
    "gateway.auth.password",
    "gateway.remote.token",
    "gateway.remote.password",
    "agents.defaults.memorySearch.remote.apiKey",
    "agents.defaults.memorySearch.remote.headers.*",
    "agents.list.[].memorySearch.remote.apiKey",
    "agents.list.[].memorySearch.remote.headers.*",
    "models.providers.*.apiKey",
    "models.providers.*.headers.*",
    "tools.web.search.apiKey",
    ...SEARCH_PROVIDERS.map((id) => `tools.web.search.${id}.apiKey`),
    "mcp.servers.*.args.[]",
    "mcp.servers.*.env.*",
    "mcp.servers.*.headers.*",
    "messages.tts.providers.*.apiKey",
    "audio.transcription.apiKey",
    "cron.webhookToken",
    "hooks.token",
    "hooks.mappings.[].verify.secret",
    "hooks.gmail.pushToken",
    "hooks.internal.entries.*.env.*",
    "skills.entries.*.env.*",
    "skills.entries.*.apiKey",
    "plugins.entries.*.env.*",
    "plugins.entries.*.apiKey",
    "env.vars.*",
  ]);
  const canaries = new Canaries();
  const config = configWith(canaries, world.model);
  const env = {
    MAIN_LLM: canaries.make("MAIN_LLM"),
    PLUGIN_KEY: canaries.make("PLUGIN_KEY"),
    MCP_ARGUMENT: canaries.make("MCP_ARGUMENT"),
    BOT_HOME: world.telegram.token,
  };
  canaries.values.push(world.telegram.token);
  const home = await world.home(world.config(config));
  await writeFile(
    home.configPath,
    JSON.stringify({ ...world.config(config), channels: channelsOf(world.config(config)) }),
  );
  const gateway = await home.start({ env });
  world.model.answer((call) => {
    if (call.isAfterTool) return { text: "done" };
    if (call.said.includes("environment")) return { tool: "exec", args: { command: "env" } };
    return { status: 400, message: `invalid request: ${canaries.echo(Number(/number (\d+)/.exec(call.said)?.[1]))}` };
  });
  for (const at of canaries.values.keys())
    world.telegram.say(`number ${at}`, at === 0 ? OWNER : { from: { id: 100 + at } });
  await outcomesOf(home, canaries.values.length);
  world.telegram.say("/status", OWNER);
  world.telegram.say("what is in the environment?", OWNER);
  await outcomesOf(home, canaries.values.length + 2);
  expect(inboxOf(home)[0]?.outcome).toMatchObject({ kind: "failed", why: expect.stringContaining("[secret]") });
  const places = [
    ["the terminal", gateway.output.replaceAll(/^.*#token=.*$/gm, "")] as const,
    ["the chat", world.telegram.sent.map(({ body }) => JSON.stringify(body)).join("\n")] as const,
    ["what a command saw", world.model.calls.map(({ toolText }) => toolText).join("\n")] as const,
    ["config.get and status", await configShown(gateway.port)] as const,
    ...(await shownBy(home, env)),
    ...filesOf(home.stateDir),
  ];
  expect(places.find(([place]) => place === "what a command saw")?.[1]).toContain("PATH=");
  expect(places.flatMap(([place, text]) => canaries.in(text).map((value) => `${place}: ${value}`))).toEqual([]);
});

/** The walk's Telegram as it is; its token in a variable whose name tells nothing. */
function channelsOf(config: Record<string, unknown>): Record<string, unknown> {
  const channels = config["channels"] as Record<string, Record<string, unknown>>;
  return { ...channels, telegram: { ...channels["telegram"], botToken: "${BOT_HOME}" } };
}
