import { readTime } from "../../../../automation/cron/reading/local-time.ts";
import { readDuration } from "../../../../utils/time/duration.ts";
import { defined } from "../../../../utils/defined.ts";
import { type Fields, isFields } from "../../../../utils/fields.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { CLEARABLE, type GivenFlags, JOB_FLAGS } from "../../cron-flags.ts";

/** A flag that cannot be used as it was given. */
export const wrongFlag = (message: string): OpenClawError =>
  new OpenClawError("USAGE", { message: `${message}.`, fix: "See `openclaw cron add --help`." });

/** The fields of a job that the flags name. Throws a usage error for values that cannot be read here. */
export function jobOf(flags: GivenFlags, now: number): Record<string, unknown> {
  atMostOne(flags, ["at", "every", "cron", "on-exit", "stream-command"]);
  atMostOne(flags, ["message", "system-event", "command", "command-argv"]);
  const placed: Record<string, unknown> = {};
  for (const [flag, , place, how] of JOB_FLAGS) {
    const [name = ""] = flag.replace("--no-", "--").split(" ");
    const value = flags[attributeOf(name)];
    if (place !== undefined && value !== undefined) put(placed, place, valueOf(name, value, how));
  }
  const { schedule, onExit, stream, payload, delivery, failureAlert, ...job } = placed;
  return defined({
    ...job,
    ...(flags["keepAfterRun"] === true && { deleteAfterRun: false }),
    schedule: watchOf(fieldsIn(onExit), fieldsIn(stream)) ?? scheduleOf(fieldsIn(schedule), flags, now),
    payload: payloadOf(fieldsIn(payload)),
    delivery: deliveryOf(fieldsIn(delivery), flags),
    failureAlert: flags["failureAlert"] === true ? fieldsIn(failureAlert) : (flags["failureAlert"] ?? failureAlert),
  });
}

/** The name under which the parser of the command line has the value of a flag. */
const attributeOf = (flag: string): string =>
  flag.replace("--", "").replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

function atMostOne(flags: GivenFlags, names: readonly string[]): void {
  if (names.filter((name) => flags[attributeOf(name)] !== undefined).length < 2) return;
  const all = names.map((name) => `--${name}`);
  throw wrongFlag(`give one of ${all.slice(0, -1).join(", ")} and ${all.at(-1)}`);
}

function put(job: Record<string, unknown>, place: string, value: unknown): void {
  const [head = "", field] = place.split(".");
  job[head] = field === undefined ? value : { ...fieldsIn(job[head]), [field]: value };
}

const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {});

function valueOf(flag: string, value: GivenFlags[string], how: (typeof JOB_FLAGS)[number][3]): unknown {
  if (Array.isArray(value)) return Object.fromEntries(value.map((pair) => pairOf(flag, String(pair))));
  const read = typeof how === "string" ? READ[how] : undefined;
  return typeof value === "string" && read ? read(value, flag) : value;
}

const READ: Readonly<Record<string, (text: string, flag: string) => unknown>> = {
  shell: (text) => ["sh", "-lc", text],
  list: (text) => text.split(",").flatMap((one) => one.trim() || []),
  json(text, flag) {
    try {
      return JSON.parse(text);
    } catch {
      throw wrongFlag(`${flag}: write a list of JSON, such as ["git", "fetch"]`);
    }
  },
  duration(text, flag) {
    const ms = readDuration(text);
    if (ms === undefined) throw wrongFlag(`${flag}: write it as 30m or 2h`);
    return ms;
  },
  number(text, flag) {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw wrongFlag(`${flag}: write a number`);
    return value;
  },
};

function pairOf(flag: string, pair: string): readonly [string, string] {
  const at = pair.indexOf("=");
  if (at < 1) throw wrongFlag(`${flag}: write NAME=VALUE`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}

function watchOf(onExit: Fields, stream: Fields): Fields | undefined {
  if (onExit["command"] !== undefined) return { kind: "on-exit", ...onExit };
  if (stream["command"] === undefined) return undefined;
  return { kind: "stream", ...(stream["match"] !== undefined && { mode: "match" }), ...stream };
}

function scheduleOf({ at, everyMs, expr, tz, staggerMs }: Fields, flags: GivenFlags, now: number): Fields | undefined {
  if (typeof at === "string") return { kind: "at", at: timeOf(at, typeof tz === "string" ? tz : "UTC", now) };
  if (everyMs !== undefined) return { kind: "every", everyMs };
  if (expr === undefined) return tz === undefined ? undefined : { tz };
  return defined({ kind: "cron", expr, tz, staggerMs: flags["exact"] === true ? 0 : staggerMs });
}

function timeOf(text: string, tz: string, now: number): string {
  const span = /^\d[\dhmsd.]*$/.test(text.trim()) ? readDuration(text) : undefined;
  if (span !== undefined) return new Date(now + span).toISOString();
  try {
    return new Date(readTime(text, tz)).toISOString();
  } catch (error) {
    throw wrongFlag(`--at: ${errorText(error)}`);
  }
}

function payloadOf(given: Fields): Fields | undefined {
  const { text, message, argv, toolsAllow } = given;
  if (text !== undefined) return defined({ kind: "systemEvent", text, toolsAllow });
  if (message !== undefined) return { kind: "agentTurn", ...given };
  if (argv !== undefined) return { kind: "command", ...given };
  return Object.keys(given).length === 0 ? undefined : given;
}

function deliveryOf(named: Fields, flags: GivenFlags): Fields | undefined {
  const { webhook, announce, deliver } = flags;
  if (webhook !== undefined) return defined({ mode: "webhook", to: webhook, bestEffort: named["bestEffort"] });
  if (deliver === false) return { ...named, mode: "none" };
  if (announce === true || deliver === true || named["to"] !== undefined || named["channel"] !== undefined)
    return { mode: "announce", ...named };
  return Object.keys(named).length === 0 ? undefined : named;
}

/** A patch for the flags of `edit`. */
export function patchOf(flags: GivenFlags, now: number): Record<string, unknown> {
  const patch = jobOf(flags, now);
  const named = Object.keys(CLEARABLE).filter((name) => flags[attributeOf(`clear-${name}`)] === true);
  for (const name of [...(flags.clear ?? []), ...named]) {
    const place = CLEARABLE[name];
    if (place === undefined) throw wrongFlag(`--clear: "${name}" is none of ${Object.keys(CLEARABLE).join(", ")}`);
    put(patch, place, null);
  }
  if (flags["enable"] === true) patch["enabled"] = true;
  if (flags["disable"] === true) patch["enabled"] = false;
  if (Object.keys(patch).length === 0) throw wrongFlag("say what is to be changed");
  return patch;
}
