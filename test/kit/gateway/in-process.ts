import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../../src/app/config/load.ts";
import { makeStateDirs, resolvePaths } from "../../../src/app/config/paths.ts";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import { movingIn } from "../../../src/app/cli/commands/gateway/move-in.ts";
import { startGateway } from "../../../src/app/gateway/gateway.ts";
import { loadOptionsFor } from "../../../src/app/plugins/load-options.ts";
import { Live } from "../../../src/app/live.ts";
import type { Method } from "../../../src/types/method.ts";
import { openLog } from "../../../src/app/log/log.ts";
import { type FakeTelegram, startFakeTelegram } from "../../fakes/telegram.ts";
import { connectParams, RawClient } from "../server/server.ts";
import { until } from "../until.ts";
import { run, type Ended } from "./cli.ts";

const MODEL = { id: "fake-1", contextWindow: 100_000, maxTokens: 4096 };

export const TOKEN = "token-of-the-channel-stage";

/** A gateway of this process with a Telegram account at a fake, and commands that ask it. */
export interface GatewayFixture {
  readonly dir: string;
  /** The home directory, in which nothing of OpenClaw is at first. */
  readonly home: string;
  readonly telegram: FakeTelegram;
  readonly http: string;
  /** One command line against this gateway. */
  cli(...args: readonly string[]): Promise<Ended>;
  /** The same, its output read as JSON. */
  json(...args: readonly string[]): Promise<Record<string, unknown>>;
  config(): string;
  /** The methods that its clients can call now. */
  methods(): Promise<readonly Method[]>;
  /** Ends the gateway and starts it again over the same state, at another port. */
  restart(): Promise<void>;
  /** A client with the gateway's token, which is closed with the gateway. `more` is over its usual parameters of `connect`. */
  client(more?: Record<string, unknown>): Promise<RawClient>;
  close(): Promise<void>;
}

export async function startGatewayFixture(
  account: Record<string, unknown> = {},
  modelUrl = "http://127.0.0.1:1/v1",
  channels: Record<string, unknown> = {},
): Promise<GatewayFixture> {
  const dir = mkdtempSync(join(tmpdir(), "channel-stage-"));
  const telegram = await startFakeTelegram();
  const config = {
    gateway: { port: 0, auth: { token: TOKEN }, reload: { debounceMs: 10 } },
    models: { providers: { fake: { baseUrl: modelUrl, apiKey: "x", api: "openai-completions", models: [MODEL] } } },
    logging: { level: "silent", consoleLevel: "silent" },
    agents: { defaults: { model: { primary: "fake/fake-1" } } },
    channels: { telegram: { botToken: telegram.token, apiRoot: telegram.url, ...account }, ...channels },
  };
  writeFileSync(join(dir, "openclaw.json"), JSON.stringify(config, null, 2));
  const paths = resolvePaths({ OPENCLAW_STATE_DIR: dir });
  await makeStateDirs(paths);
  const load = async () => loadConfig(await loadOptionsFor(bundledContributions(), paths, {}));
  const log = openLog({ file: join(dir, "test.log"), level: "silent", consoleLevel: "silent", consoleStyle: "json" });
  const home = mkdtempSync(join(tmpdir(), "channel-home-"));
  const left = movingIn({ env: { OPENCLAW_STATE_DIR: dir, HOME: home }, contributions: bundledContributions() });
  const boot = async () => startGateway(new Live(paths, dir, await load()), { log, load, movingIn: left });
  let gateway = await boot();
  const env = { OPENCLAW_STATE_DIR: dir, OPENCLAW_GATEWAY_TOKEN: TOKEN };
  const clients: RawClient[] = [];
  const cli = (...args: readonly string[]) =>
    run(args, { ...env, OPENCLAW_GATEWAY_URL: `ws://127.0.0.1:${gateway.port}` });
  const fixture: GatewayFixture = {
    dir,
    home,
    telegram,
    get http() {
      return `http://127.0.0.1:${gateway.port}`;
    },
    cli,
    async json(...args) {
      const { out, err } = await cli(...args, "--json");
      if (out === "") throw new Error(err);
      return JSON.parse(out) as Record<string, unknown>;
    },
    config: () => readFileSync(join(dir, "openclaw.json"), "utf8"),
    methods: () => gateway.methods(),
    async restart() {
      await gateway.close(0);
      gateway = await boot();
    },
    async client(more = {}) {
      const client = new RawClient(`ws://127.0.0.1:${gateway.port}`);
      clients.push(client);
      await client.connect({ ...connectParams(TOKEN), ...more });
      return client;
    },
    async close() {
      for (const client of clients) client.close();
      await gateway.close(0);
      await telegram.close();
      for (const made of [dir, home]) rmSync(made, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  if (account["enabled"] !== false) {
    const status = () => cli("channels", "status", "--channel", "telegram");
    await until(async () => (await status()).out.includes("running"), "the channel");
  }
  return fixture;
}
