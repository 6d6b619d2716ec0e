import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The built gateway as a child process, over a state directory that survives its death. */
export interface GatewayUnderTest {
  readonly port: number;
  readonly pid: number;
  readonly token: string;
  readonly home: string;
  /** Everything it printed, parsed where it is JSON. */
  readonly lines: readonly Record<string, unknown>[];
  /** The first log line, past or to come, with this message. */
  logged(message: string, timeoutMs?: number): Promise<Record<string, unknown>>;
  kill(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

export interface Home {
  readonly dir: string;
  readonly stateDir: string;
  readonly configPath: string;
  start(options?: { env?: Record<string, string> }): Promise<GatewayUnderTest>;
  writeConfig(config: Record<string, unknown>): Promise<void>;
  /** Kills what still runs and removes the directory. */
  remove(): Promise<void>;
}

const TOKEN = "walk-token-0123456789abcdef";
const BIN = join(import.meta.dirname, "../../bin/openclaw.mjs");

export async function makeHome(config: Record<string, unknown>): Promise<Home> {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-walk-"));
  const stateDir = join(dir, "state");
  const configPath = join(stateDir, "openclaw.json");
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const running = new Set<GatewayUnderTest>();
  const home: Home = {
    dir,
    stateDir,
    configPath,
    writeConfig: (next) => writeFile(configPath, JSON.stringify(withGateway(next), null, 2), { mode: 0o600 }),
    async start(options = {}) {
      const gateway = await spawnGateway(home, options.env ?? {});
      running.add(gateway);
      return gateway;
    },
    async remove() {
      for (const gateway of running) await gateway.kill("SIGKILL");
      await rm(dir, { recursive: true, force: true });
    },
  };
  await home.writeConfig(config);
  return home;
}

const withGateway = (config: Record<string, unknown>) => ({
  ...config,
  gateway: { port: 0, auth: { token: TOKEN }, ...(config["gateway"] as object | undefined) },
});

/** Telegram and the model of a walk, as the config names them. */
export function walkConfig(
  telegram: { url: string; token: string },
  model: { url: string },
  more: Record<string, unknown> = {},
) {
  return {
    models: {
      providers: {
        fake: {
          baseUrl: model.url,
          apiKey: "x",
          api: "openai-completions",
          models: [{ id: "fake-1", contextWindow: 100_000, maxTokens: 4096 }],
        },
      },
    },
    agents: { defaults: { model: { primary: "fake/fake-1" } } },
    messages: { queue: { debounceMs: 0 } },
    channels: {
      telegram: { enabled: true, botToken: telegram.token, apiRoot: telegram.url, dmPolicy: "open", allowFrom: ["*"] },
    },
    ...more,
  };
}

async function spawnGateway(home: Home, env: Record<string, string>): Promise<GatewayUnderTest> {
  const child = spawn(process.execPath, [BIN, "gateway", "run"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home.dir,
      OPENCLAW_STATE_DIR: home.stateDir,
      OPENCLAW_CONFIG_PATH: home.configPath,
      NO_COLOR: "1",
      NODE_DISABLE_COMPILE_CACHE: "1",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const gateway = new Running(child, home.dir);
  await gateway.started();
  return gateway;
}

class Running implements GatewayUnderTest {
  readonly token = TOKEN;
  readonly home: string;
  readonly lines: Record<string, unknown>[] = [];
  port = 0;
  readonly #child: ChildProcess;
  readonly #watchers = new Set<() => void>();
  readonly #exit: Promise<number | NodeJS.Signals>;
  #stderr = "";
  #ended = false;

  constructor(child: ChildProcess, home: string) {
    this.#child = child;
    this.home = home;
    this.#exit = new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal ?? "SIGKILL")));
    void this.#exit.then(() => {
      this.#ended = true;
      this.#wake();
    });
    createInterface({ input: child.stdout! }).on("line", (line) => this.#take(line));
    child.stderr?.on("data", (data: Buffer) => (this.#stderr += data.toString()));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async started(): Promise<void> {
    const line = await this.logged("listening", 15_000);
    this.port = Number(line["port"]);
  }

  async logged(message: string, timeoutMs = 10_000): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      const stop = (settle: () => void) => {
        clearTimeout(timer);
        this.#watchers.delete(look);
        settle();
      };
      const look = () => {
        const line = this.lines.find((candidate) => candidate["msg"] === message);
        if (line) stop(() => resolve(line));
        else if (this.#ended) stop(() => reject(new Error(`the gateway ended: ${this.#stderr}${this.#tail()}`)));
      };
      const timer = setTimeout(
        () => stop(() => reject(new Error(`"${message}" was not logged: ${this.#stderr}${this.#tail()}`))),
        timeoutMs,
      );
      this.#watchers.add(look);
      look();
    });
  }

  async kill(signal: NodeJS.Signals = "SIGTERM"): Promise<number | NodeJS.Signals> {
    if (!this.#ended) this.#child.kill(signal);
    return this.#exit;
  }

  #take(line: string): void {
    try {
      this.lines.push(JSON.parse(line) as Record<string, unknown>);
    } catch {
      this.lines.push({ text: line });
    }
    this.#wake();
  }

  #wake(): void {
    for (const look of [...this.#watchers]) look();
  }

  #tail(): string {
    return this.lines
      .slice(-15)
      .map((line) => JSON.stringify(line))
      .join("\n");
  }
}
