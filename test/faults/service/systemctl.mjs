#!/usr/bin/env node
// Stands for systemd's `systemctl --user`: starts the program of a unit in the background, and ends it.
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const home = process.env.HOME;
const [verb, name] = process.argv.slice(2).filter((arg) => arg !== "--user");
const pidFile = join(home, "service.pid");
const unit = join(home, ".config", "systemd", "user", String(name));

const words = (line) => [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map((m) => m[1] ?? m[2]);
const linesOf = (key) =>
  readFileSync(unit, "utf8")
    .split("\n")
    .filter((line) => line.startsWith(`${key}=`))
    .map((line) => line.slice(key.length + 1));

/** A process that has ended and waits for its parent counts as ended. */
function running() {
  const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, "utf8")) : 0;
  try {
    const [, state] = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return state === "Z" ? 0 : pid;
  } catch {
    return 0;
  }
}

async function stop() {
  const pid = running();
  if (pid === 0) return;
  process.kill(pid, "SIGTERM");
  while (running() !== 0) await sleep(20);
}

function start() {
  if (running() !== 0) return;
  const [program, ...args] = linesOf("ExecStart").flatMap(words);
  const env = Object.fromEntries(
    linesOf("Environment")
      .flatMap(words)
      .map((pair) => pair.split(/=(.*)/s)),
  );
  const output = openSync(join(home, "service.log"), "a");
  const child = spawn(program, args, { detached: true, env, stdio: ["ignore", output, output] });
  writeFileSync(pidFile, String(child.pid));
  child.unref();
  closeSync(output);
}

while (existsSync(join(home, `hang-${verb}`))) await sleep(20);
if (verb === "restart" || verb === "stop") await stop();
if (verb === "restart" || verb === "start") start();
if (verb === "show") {
  const pid = running();
  const state = pid === 0 ? "ActiveState=failed\nSubState=failed" : "ActiveState=active\nSubState=running";
  process.stdout.write(`${state}\nMainPID=${pid}\nResult=success\nUnitFileState=enabled\nNRestarts=0\n`);
}
