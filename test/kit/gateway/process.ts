import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { COMPILED } from "./compiled.ts";

/** The built gateway as a child process, over a state directory that survives its death. */
export interface GatewayUnderTest {
  readonly port: number;
  readonly pid: number;
  readonly token: string;
  readonly home: string;
  /** Everything it printed, parsed where it is JSON. */
  readonly lines: readonly LogLine[];
  /** Everything it printed, as it was printed. */
  readonly output: string;
  /** The first log line, past or to come, with this message, or that fits. */
  logged(message: string | ((line: LogLine) => boolean), timeoutMs?: number): Promise<LogLine>;
  /** Sends the signal; resolves with the exit code, or the signal that ended it. */
  kill(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
  /** Resolves as `kill` does, when it ends by itself. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Sends the signal and does not wait. */
  signal(signal: NodeJS.Signals): void;
}

export type LogLine = Readonly<Record<string, unknown>>;

/** The line that tells that a channel's account is connected. */
export const isUp =
  (channel: string) =>
  (line: LogLine): boolean =>
    line["msg"] === "channel connected" && line["channel"] === channel;

/** What a command printed, and how it ended. */
export interface Ended {
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

export interface Home {
  readonly dir: string;
  readonly stateDir: string;
  readonly configPath: string;
  start(options?: StartOptions): Promise<GatewayUnderTest>;
  /** The gateway that was started last. */
  readonly latest: GatewayUnderTest | undefined;
  /** The user that commands run as; that of the test when unset. Only root may set it. */
  user?: number;
  /** The program's file; that of this repository when unset. */
  program?: string;
  /** Milliseconds after which a command counts as hanging; `PATIENCE_MS` when unset. */
  patienceMs?: number;
  /** Runs a command of the program over this home to its end. */
  run(args: readonly string[], env?: Record<string, string>): Promise<Ended>;
  writeConfig(config: Record<string, unknown>): Promise<void>;
  /** Kills what still runs and removes the directory. */
  remove(): Promise<void>;
}

export interface StartOptions {
  readonly env?: Record<string, string>;
  /** Behind `gateway run`. */
  readonly args?: readonly string[];
  /** What `gateway run` is given to; Node with the program of the home when unset. */
  readonly command?: readonly [string, ...string[]];
}

/** How long a step may take on a machine that has other work to do. */
export const PATIENCE_MS = 60_000;
/** For `vi.waitFor`, which by itself waits one second. */
export const PATIENCE = { timeout: PATIENCE_MS, interval: 20 };
/** Far more than it takes on a busy machine; what hangs takes `PATIENCE_MS`. */
export const SOON_MS = 25_000;
export const TOKEN = "walk-token-0123456789abcdef";
const BIN = join(import.meta.dirname, "../../../bin/openclaw.mjs");
/** Saves a quarter of a start's processor time, which is garbage collection. */
const NODE_ARGS = ["--min-semi-space-size=16"];

/** `below`: the directory in which it is made; that of temporary files when unset. */
export async function makeHome(config: Record<string, unknown>, below = tmpdir()): Promise<Home> {
  const dir = await mkdtemp(join(below, "openclaw-walk-"));
  const stateDir = join(dir, "state");
  const configPath = join(stateDir, "openclaw.json");
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const running = new Set<Running>();
  const home: Home = {
    dir,
    stateDir,
    configPath,
    writeConfig: (next) => writeFile(configPath, JSON.stringify(withGateway(next), null, 2), { mode: 0o600 }),
    get latest() {
      return [...running].at(-1);
    },
    async start(options = {}) {
      const gateway = spawnGateway(home, options);
      running.add(gateway);
      await gateway.started();
      return gateway;
    },
    run: (args, env = {}) => runCommand(home, args, env),
    async remove() {
      for (const gateway of running) await gateway.kill("SIGKILL");
      // What a killed gateway has started, such as a server of tools, writes for a moment longer.
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
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

const envOf = (home: Home, more: Record<string, string>): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: home.dir,
  OPENCLAW_STATE_DIR: home.stateDir,
  OPENCLAW_CONFIG_PATH: home.configPath,
  NO_COLOR: "1",
  // Tests kill a gateway more often in a few minutes than a machine does.
  OPENCLAW_SAFE_MODE: "off",
  ...COMPILED,
  ...more,
});

function spawnGateway(home: Home, { env = {}, args = [], command }: StartOptions): Running {
  const [program, ...before] = command ?? [process.execPath, ...NODE_ARGS, home.program ?? BIN];
  const child = spawn(program, [...before, "gateway", "run", ...args], {
    env: envOf(home, env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  return new Running(child, home.dir);
}

async function runCommand(home: Home, args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const began = performance.now();
  const { user } = home;
  const child = spawn(process.execPath, [...NODE_ARGS, home.program ?? BIN, ...args], {
    env: envOf(home, env),
    stdio: ["ignore", "pipe", "pipe"],
    ...(user !== undefined && { uid: user, gid: user }),
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
  child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
  const late = setTimeout(() => child.kill("SIGKILL"), home.patienceMs ?? PATIENCE_MS);
  const code = await new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("close", (exit, signal) => resolve(exit ?? signal ?? "SIGKILL"));
  });
  clearTimeout(late);
  return { code, stdout, stderr, ms: performance.now() - began };
}

class Running implements GatewayUnderTest {
  readonly token = TOKEN;
  readonly home: string;
  readonly lines: LogLine[] = [];
  output = "";
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
    child.stdout?.on("data", (data: Buffer) => (this.output += data.toString()));
    child.stderr?.on("data", (data: Buffer) => {
      this.#stderr += data.toString();
      this.output += data.toString();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get ended(): Promise<number | NodeJS.Signals> {
    return this.#exit;
  }

  async started(): Promise<void> {
    const line = await this.logged("listening");
    this.port = Number(line["port"]);
  }

  async logged(message: string | ((line: LogLine) => boolean), timeoutMs = PATIENCE_MS): Promise<LogLine> {
    const fits = typeof message === "string" ? (line: LogLine) => line["msg"] === message : message;
    return new Promise((resolve, reject) => {
      const stop = (settle: () => void) => {
        clearTimeout(timer);
        this.#watchers.delete(look);
        settle();
      };
      const look = () => {
        const line = this.lines.find(fits);
        if (line) stop(() => resolve(line));
        else if (this.#ended) stop(() => reject(new Error(`the gateway ended: ${this.#stderr}${this.#tail()}`)));
      };
      const timer = setTimeout(
        () => stop(() => reject(new Error(`not logged: ${String(message)}: ${this.#stderr}${this.#tail()}`))),
        timeoutMs,
      );
      this.#watchers.add(look);
      look();
    });
  }

  async kill(signal: NodeJS.Signals = "SIGTERM"): Promise<number | NodeJS.Signals> {
    this.signal(signal);
    return this.#exit;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#ended) this.#child.kill(signal);
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
    for (const look of this.#watchers) look();
  }

  #tail(): string {
    return this.lines
      .slice(-15)
      .map((line) => JSON.stringify(line))
      .join("\n");
  }
}
