import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startFakeModel, type FakeModel, type ModelCall, type ModelReply } from "../../fakes/model.ts";
import { until } from "../../kit/until.ts";

const TOKEN = "a-token-of-the-comparison-0123456789";
const READY_MS = 120_000;

/** A gateway as a child process over a state directory of its own, and the model that it asks. */
export interface StartedGateway {
  readonly url: string;
  readonly token: string;
  /** Everything that it printed. */
  readonly log: string;
  /** Holds `state`, the state directory. */
  readonly home: string;
  readonly model: FakeModel;
  /** Its variables, for commands of the same program. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends the program; its files and its model stay. */
  end(): Promise<void>;
  /** Ends the program and its model, and removes its files. */
  stop(): Promise<void>;
}

/** What an earlier program has left. */
export interface Earlier {
  /** Has a state directory with a config. */
  readonly home: string;
  readonly model: FakeModel;
}

/**
 * Starts the program in a new state directory, or that of an earlier program, and waits until it is ready. `program` is the file that
 * Node runs.
 */
export async function startGateway(program: string, earlier?: Earlier): Promise<StartedGateway> {
  const home = earlier?.home ?? (await mkdtemp(join(tmpdir(), "openclaw-compared-")));
  const model = earlier?.model ?? (await startScriptedModel());
  const port = await freePort();
  const stateDir = join(home, "state");
  const configPath = join(stateDir, "openclaw.json");
  if (!earlier) {
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    await writeFile(configPath, JSON.stringify(configFor(port, model), null, 2), { mode: 0o600 });
  }
  const env = envFor(home);
  const log = join(home, "log");
  const output = openSync(log, "a");
  const child = spawn(process.execPath, [program, "gateway", "run", "--port", String(port)], {
    env,
    stdio: ["ignore", output, output],
    cwd: home,
  });
  const stop = async () => {
    await end(child);
    await model.close();
    if (process.env["OPENCLAW_KEEP_COMPARED"] === undefined) await rm(home, { recursive: true, force: true });
  };
  try {
    await until(() => isReady(port, child), `${program} to be ready; its log is ${log}`, READY_MS);
  } catch (error) {
    await end(child);
    throw error;
  }
  return { url: `ws://127.0.0.1:${port}`, token: TOKEN, log, home, model, env, end: () => end(child), stop };
}

/** The variables of programs over a home. */
export const envFor = (home: string): Readonly<Record<string, string>> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  OPENCLAW_STATE_DIR: join(home, "state"),
  OPENCLAW_CONFIG_PATH: join(home, "state", "openclaw.json"),
  OPENCLAW_GATEWAY_TOKEN: TOKEN,
  FAKE_MODEL_KEY: "key-of-the-scripted-model",
  NO_COLOR: "1",
});

async function isReady(port: number, child: ChildProcess): Promise<boolean> {
  if (child.exitCode !== null) throw new Error(`the gateway ended with code ${child.exitCode}`);
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
  return answer?.ok === true;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Only keys that both gateways know. */
const configFor = (port: number, model: FakeModel) => ({
  gateway: { mode: "local", port, bind: "loopback", auth: { mode: "token", token: "${OPENCLAW_GATEWAY_TOKEN}" } },
  models: {
    providers: {
      fake: {
        baseUrl: model.url,
        apiKey: "${FAKE_MODEL_KEY}",
        api: "openai-completions",
        models: ["fake-1", "fake-2"].map((id) => ({
          id,
          name: id,
          reasoning: true,
          contextWindow: 100_000,
          maxTokens: 4096,
        })),
      },
    },
  },
  agents: { defaults: { model: { primary: "fake/fake-1" } } },
});

async function startScriptedModel(): Promise<FakeModel> {
  const model = await startFakeModel();
  model.answer(replyTo);
  return model;
}

const SLOW_WORDS = 100;

/** `TOOL:<name> <arguments>` in a message calls that tool once, `SLOW` is answered for seconds, and `FAIL` with an error. */
export function replyTo({ said, isAfterTool }: ModelCall): ModelReply {
  const [, tool, args] = /TOOL:(\w+) (\{.*\})/.exec(said) ?? [];
  if (tool !== undefined && !isAfterTool) return { tool, args: JSON.parse(args ?? "{}") as Record<string, unknown> };
  if (said.includes("FAIL")) return { status: 400, message: "the model refuses this" };
  if (said.includes("SLOW")) return { text: "slow ".repeat(SLOW_WORDS), everyMs: 100 };
  return { text: "echo: the answer of the model" };
}
