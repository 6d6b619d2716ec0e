// node sandbox.mjs [COMMANDS (60)]   Time of a command that does nothing, plain and in a sandbox of bubblewrap that may write its workspace. The
// two take turns, so that both have the same load of the machine. Runs the code of src/, in this process. Says so where bubblewrap does not work.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import * as L from "../lib.mjs";
import { hostBackends } from "../../src/tools/host/host.ts";
import { sandboxBackends } from "../../src/tools/sandbox/backends.ts";
import { SandboxMachine } from "../../src/tools/sandbox/machine.ts";
import { sandboxSettings } from "../../src/tools/sandbox/settings.ts";

const commands = Number(process.argv[2] ?? 60);

const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "bench-sandbox-")));
const stateDir = path.join(home, ".openclaw");
const workspace = path.join(stateDir, "workspace");
fs.mkdirSync(workspace, { recursive: true });

const exec = { security: "full", ask: "off", timeoutMs: 30_000, safeBins: [], pathPrepend: [] };
const settings = { workspace, tools: { global: { key: "tools" }, workspaceOnly: true }, exec };
const host = { settings, rights: "owner", deniedPaths: [], stateDir };
const machine = new SandboxMachine({ env: process.env, dir: path.join(stateDir, "state") });
const place = {
  settings: sandboxSettings({ mode: "all", workspaceAccess: "rw" }, {}, { home, stateDir }),
  machine,
  owner: { agentId: "main", sessionKey: "bench" },
  home,
};
const plain = hostBackends(host).exec;
const inside = sandboxBackends({ host, place, confined: { commands: true, files: true } }).exec;

/** Milliseconds from the call to the end of the command. */
async function timeOf(backend) {
  const begun = performance.now();
  const cwd = await backend.directory(".", workspace);
  const running = await backend.start({ command: "true", cwd, timeoutMs: 10_000, input: "none" });
  const { code } = await running.ended;
  if (code !== 0) throw new Error(`the command ended with ${code}`);
  return performance.now() - begun;
}

const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];

try {
  const probe = await machine.probe("bwrap");
  if (!probe.ok) throw new Error(`bubblewrap does not work here: ${probe.why}`);
  const [outsideMs, insideMs] = [[], []];
  for (let n = 0; n < commands; n++) {
    outsideMs.push(await timeOf(plain));
    insideMs.push(await timeOf(inside));
  }
  L.save("sandbox", { commands, plainMs: median(outsideMs), sandboxMs: median(insideMs) });
} finally {
  fs.rmSync(home, { recursive: true, force: true });
}
process.exit(0);
