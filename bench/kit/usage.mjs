// What a process and its children use, from /proc (Linux).
import fs from "node:fs";
import { r1 } from "./numbers.mjs";

const read = (file) => {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    // A process or thread that has just ended.
    return undefined;
  }
};

const list = (folder) => (fs.existsSync(folder) ? fs.readdirSync(folder) : []);

/** The process and all that it started, directly or not. */
export function tree(pid) {
  const children = list(`/proc/${pid}/task`).flatMap((thread) => {
    const pids = read(`/proc/${pid}/task/${thread}/children`) ?? "";
    return pids.split(" ").filter(Boolean).map(Number);
  });
  return [pid, ...children.flatMap(tree)];
}

const kib = (file, pattern) => Number(pattern.exec(read(file) ?? "")?.[1] ?? 0);

/** Resident memory in MiB: all of it, and with shared pages divided among those who share them. */
export function mem(pid) {
  const pids = tree(pid);
  const sum = (one) => r1(pids.reduce((total, each) => total + one(each), 0) / 1024);
  return {
    procs: pids.length,
    rssMiB: sum((each) => kib(`/proc/${each}/status`, /VmRSS:\s+(\d+)/)),
    pssMiB: sum((each) => kib(`/proc/${each}/smaps_rollup`, /^Pss:\s+(\d+)/m)),
  };
}

/** Processor time in seconds: user and system, in steps of 10 ms. */
export function cpu(pid) {
  const ticks = tree(pid).map((each) => {
    const fields = (read(`/proc/${each}/stat`) ?? "").split(") ")[1]?.split(" ");
    return fields ? Number(fields[11]) + Number(fields[12]) : 0;
  });
  return ticks.reduce((total, one) => total + one, 0) / 100;
}

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
    return list(folder).map((id) => `${folder}/${id}`);
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
