// Loaded by `--import`: the clock of this process is late by CLOCK_LATE_MS.
const late = Number(process.env["CLOCK_LATE_MS"]);
const Own = Date;
const now = () => Own.now() - late;

globalThis.Date = new Proxy(Own, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
});
