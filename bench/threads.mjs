// What the threads of a process used, from /proc (Linux).
import fs from "node:fs";
import { tree } from "./lib.mjs";

const read = (file) => {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    // A thread that has just ended.
    return undefined;
  }
};

function threadOf(task) {
  const name = read(`${task}/comm`)?.trim();
  const times = read(`${task}/schedstat`);
  const status = read(`${task}/status`);
  if (!name || !times || !status) return undefined;
  const cpuMs = Number(times.split(" ")[0]) / 1e6;
  const wakeUps = Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]);
  return { id: task, name, cpuMs, wakeUps };
}

/** Every thread of the process and its children: name, processor time in ms, voluntary context switches; since its start. */
export function threads(pid) {
  const tasks = tree(pid).flatMap((one) => {
    const folder = `/proc/${one}/task`;
    return fs.existsSync(folder) ? fs.readdirSync(folder).map((id) => `${folder}/${id}`) : [];
  });
  return tasks.map(threadOf).filter(Boolean);
}

/** What was used between two lists of `threads`, summed by the threads' names. */
export function usedBetween(before, after) {
  const earlier = new Map(before.map((one) => [one.id, one]));
  const sums = new Map();
  for (const one of after) {
    const from = earlier.get(one.id) ?? { cpuMs: 0, wakeUps: 0 };
    const sum = sums.get(one.name) ?? { name: one.name, cpuMs: 0, wakeUps: 0 };
    sum.cpuMs += one.cpuMs - from.cpuMs;
    sum.wakeUps += one.wakeUps - from.wakeUps;
    sums.set(one.name, sum);
  }
  return [...sums.values()].sort((a, b) => b.cpuMs - a.cpuMs);
}
