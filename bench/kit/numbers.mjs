// Times, quantiles and results.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { env, NAME, ROOT } from "./home.mjs";

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The monotonic clock of the machine, the same in all processes. */
export const nowNs = () => process.hrtime.bigint();

/** Milliseconds from `a` to `b`. */
export const ms = (a, b) => Number(BigInt(b) - BigInt(a)) / 1e6;

/** The quantile `p` (0 to 1); NaN of nothing. */
export function q(values, p) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length > 0 ? sorted[Math.min(sorted.length - 1, Math.ceil(p * sorted.length) - 1)] : NaN;
}

/** Rounded to tenths. */
export const r1 = (value) => Math.round(value * 10) / 10;

/** Rounded to three digits, for small figures. */
export const r3 = (value) => Number(value.toPrecision(3));

export const stat = (values) => ({
  n: values.length,
  p50: r1(q(values, 0.5)),
  p95: r1(q(values, 0.95)),
  max: r1(q(values, 1)),
});

/** Adds a result to $RESULTS, under the name $EXPERIMENT or `experiment`. */
export function save(experiment, result) {
  const line = JSON.stringify({
    name: NAME,
    exp: env.EXPERIMENT ?? experiment,
    at: new Date().toISOString(),
    load: fs.readFileSync("/proc/loadavg", "utf8").split(" ")[0],
    ...result,
  });
  fs.mkdirSync(ROOT, { recursive: true });
  fs.appendFileSync(env.RESULTS || path.join(os.tmpdir(), "gateway-bench", "results.jsonl"), `${line}\n`);
  console.log(line);
}
