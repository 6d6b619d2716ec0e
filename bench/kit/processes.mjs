// Starts and stops the gateway and the fakes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import process from "node:process";
import { env, gwEnv, LLM, PORT, ROOT, TG } from "./home.mjs";
import { httpJson, tg } from "./messages.mjs";
import { ms, nowNs, r1, sleep } from "./numbers.mjs";
import { tree } from "./usage.mjs";

const bench = path.dirname(import.meta.dirname);
const children = [];

function startFake(file, port, more) {
  const child = spawn(process.execPath, [path.join(bench, file)], {
    env: { ...env, PORT: String(port), ...more },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return new Promise((resolve) => child.stdout.once("data", () => resolve(child)));
}

/** Resolves when the fake model and the fake Telegram listen. */
export async function startFakes(llmEnv = {}) {
  fs.mkdirSync(ROOT, { recursive: true });
  await startFake("fake-llm.mjs", LLM, { LOG: `${ROOT}/llm.jsonl`, ...llmEnv });
  await startFake("fake-telegram.mjs", TG, { LOG: `${ROOT}/tg.jsonl` });
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, "exit");
  child.kill("SIGKILL");
  await over;
}

/** Kills what was started and still runs. Resolves when it has ended. */
export async function stopAll() {
  await Promise.all(children.splice(0).map(end));
}

const isListening = () =>
  new Promise((resolve) => {
    const socket = net.connect(PORT, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

const isHealthy = async () => (await httpJson(`http://127.0.0.1:${PORT}/healthz`, undefined, 5000)).status === 200;
const isPolling = async () => (await tg("state")).pollers > 0;

async function isReady(gateway) {
  const { status } = await httpJson(`http://127.0.0.1:${PORT}/readyz`, undefined, 5000);
  gateway.readyStatus = status;
  return status === 200 || status === 404;
}

/** Milliseconds from the start of the gateway until `isSo`; null when it ended or took too long. */
async function until(gateway, isSo, timeoutMs) {
  while (!gateway.exited && ms(gateway.t0, nowNs()) < timeoutMs) {
    // Nothing listens yet, at first.
    if (await isSo(gateway).catch(() => false)) return r1(ms(gateway.t0, nowNs()));
    await sleep(5);
  }
  return null;
}

/** Runs $GW_CMD. `tcp`, `healthz`, `readyz` and `poll` of the result are milliseconds from the start. */
export async function startGateway(options = {}) {
  const { timeoutMs = 120_000, log = `${ROOT}/gateway.log`, waitPoll = true, nodeArgs } = options;
  const [command, ...args] = env.GW_CMD.replaceAll("{port}", PORT).split(" ");
  const out = fs.openSync(log, "a");
  const t0 = nowNs();
  const child = spawn(command, args, {
    env: { ...gwEnv(), ...(nodeArgs && { NODE_OPTIONS: nodeArgs }) },
    stdio: ["ignore", out, out],
  });
  children.push(child);
  fs.closeSync(out);
  const gateway = { child, t0, exited: null };
  child.on("exit", (code, sig) => {
    gateway.exited = { code, sig, ms: ms(t0, nowNs()) };
  });
  gateway.tcp = await until(gateway, isListening, timeoutMs);
  gateway.healthz = await until(gateway, isHealthy, timeoutMs);
  gateway.readyz = await until(gateway, isReady, timeoutMs);
  if (waitPoll) gateway.poll = await until(gateway, isPolling, timeoutMs);
  return gateway;
}

/** Returns the milliseconds until it ended. What its processes left behind is killed. */
export async function stopGateway(gateway, signal = "SIGTERM") {
  if (gateway.exited) return 0;
  const begun = nowNs();
  const pids = tree(gateway.child.pid);
  gateway.child.kill(signal);
  for (let n = 0; n < 2000 && !gateway.exited; n++) await sleep(10);
  await sleep(50);
  for (const pid of pids) kill(pid);
  return r1(ms(begun, nowNs()));
}

function kill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** The Node process of the gateway: `$GW_CMD` may run it under another program. */
export function nodeOf(gateway) {
  const isNode = (pid) => fs.readlinkSync(`/proc/${pid}/exe`) === fs.realpathSync(process.execPath);
  return tree(gateway.child.pid).find(isNode);
}
