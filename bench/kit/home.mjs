// Where an experiment runs: folders, ports and config, all from the environment.
//   NAME      label; the state root is $ROOT, else <tmpdir>/gateway-bench/$NAME
//   GW_CMD    command that runs the gateway in the foreground; {port} is replaced
//             (e.g. "node bin/openclaw.mjs gateway run --port {port}")
//   NODE_DIR  directory put first in PATH (default: that of the running Node)
//   ROOT      state root (HOME=$ROOT/home, OPENCLAW_STATE_DIR=$ROOT/state, config $ROOT/state/openclaw.json)
//   PORT_BASE gateway port; fake LLM = +10, fake Telegram = +20
//   CONTEXT_WINDOW  of the fake model, tokens (200000; the OpenClaw rows were measured with 4000000, so that nothing is compacted)
//   CONFIG_PATCH  JSON object deep-merged into the config (null deletes a key)
//   ENV_PREFIX  of the gateway's own variables (OPENCLAW)
//   KEEP=1    keep the state dir of the previous experiment (default: start from an empty one)
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";

export const { env } = process;
export const NAME = env.NAME || "oc";
export const ROOT = env.ROOT || path.join(os.tmpdir(), "gateway-bench", NAME);
export const PORT = +(env.PORT_BASE || 19000);
export const LLM = PORT + 10;
export const TG = PORT + 20;
export const STATE = `${ROOT}/state`;
export const HOME = `${ROOT}/home`;
export const CONFIG = `${STATE}/openclaw.json`;
export const TOKEN = "bench-token";

const PREFIX = env.ENV_PREFIX || "OPENCLAW";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Merges objects deeply, in place. A null deletes its key. */
function merge(target, patch) {
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete target[key];
    else if (isObject(value)) target[key] = merge(isObject(target[key]) ? target[key] : {}, value);
    else target[key] = value;
  }
  return target;
}

export const fakeModel = () => ({
  id: "fake-1",
  name: "Fake",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: +(env.CONTEXT_WINDOW || 200_000),
  maxTokens: 8192,
});

const fakeProvider = () => ({
  baseUrl: `http://127.0.0.1:${LLM}/v1`,
  apiKey: "x",
  api: "openai-completions",
  models: [fakeModel()],
});

const fakeTelegram = () => ({
  enabled: true,
  botToken: "777000111:AAbenchbenchbenchbenchbenchbenchbenc",
  dmPolicy: "open",
  allowFrom: ["*"],
  apiRoot: `http://127.0.0.1:${TG}`,
});

/** Writes the config, into an empty state directory. */
export function mkConfig(patch = {}) {
  if (!env.KEEP) for (const folder of [STATE, HOME]) fs.rmSync(folder, { recursive: true, force: true });
  const config = {
    gateway: { mode: "local", port: PORT, bind: "loopback", auth: { mode: "token", token: TOKEN } },
    models: { mode: "merge", providers: { fake: fakeProvider() } },
    agents: { defaults: { model: { primary: "fake/fake-1" }, heartbeat: { every: "0m" } } },
    session: { dmScope: "per-channel-peer" },
    channels: { telegram: fakeTelegram() },
    update: { checkOnStart: false },
  };
  merge(config, JSON.parse(env.CONFIG_PATCH || "{}"));
  merge(config, patch);
  for (const folder of [STATE, HOME]) fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(CONFIG, JSON.stringify(config, null, 2));
  return config;
}

/** The environment of the gateway. */
export const gwEnv = () => ({
  ...env,
  PATH: `${env.NODE_DIR || path.dirname(process.execPath)}:${env.PATH}`,
  HOME,
  [`${PREFIX}_STATE_DIR`]: STATE,
  [`${PREFIX}_CONFIG_PATH`]: CONFIG,
  [`${PREFIX}_DISABLE_BONJOUR`]: "1",
  NO_COLOR: "1",
});
