// Loaded into the gateway by `--import`: its clock is late by CLOCK_LATE_MS, and timers of a minute and more run TIMERS_FASTER times as fast.
import process from "node:process";

const late = Number(process.env.CLOCK_LATE_MS);
const faster = Number(process.env.TIMERS_FASTER);
const Own = Date;
const now = () => Own.now() - late;

globalThis.Date = new Proxy(Own, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
});

const { setTimeout: after } = globalThis;
globalThis.setTimeout = Object.assign(
  (call, ms, ...args) => after(call, ms >= 60_000 && ms < 3_600_000 ? ms / faster : ms, ...args),
  after,
);
