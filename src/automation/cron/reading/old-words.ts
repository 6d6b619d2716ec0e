import { isFields } from "../../../utils/fields.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a payload or a schedule that people write directly in the job. */
const OF_PAYLOAD = [
  "message",
  "text",
  "model",
  "fallbacks",
  "thinking",
  "timeoutSeconds",
  "lightContext",
  "toolsAllow",
  "allowUnsafeExternalContent",
];
const OF_SCHEDULE = ["at", "atMs", "every", "everyMs", "anchorMs", "cron", "expr", "tz", "staggerMs"];
/** Fields of a delivery that older jobs have in their payload. */
const OF_DELIVERY = ["channel", "provider", "to", "threadId", "accountId", "bestEffort", "bestEffortDeliver"];

/**
 * A job in the present fields: older spellings are replaced, and flattened fields are put in their places. Unknown
 * fields stay.
 */
export function inWordsOfToday(given: Fields, webhook?: string): Fields {
  const { payload: ofPayload, rest: withoutPayload } = take(given, OF_PAYLOAD, "payload");
  const { payload: ofSchedule, rest } = take(withoutPayload, OF_SCHEDULE, "schedule");
  const { notify, jobId: _jobId, ...others } = rest;
  const { payload, delivery: inside } = splitPayload(ofPayload);
  const delivery = mergedDelivery(others["delivery"], inside, notify === true ? webhook : undefined);
  return {
    ...others,
    ...(payload && { payload: payloadOf(payload) }),
    ...(ofSchedule && { schedule: scheduleOf(ofSchedule) }),
    ...(delivery !== undefined && { delivery }),
  };
}

function take(given: Fields, names: readonly string[], name: string): { payload: Fields | undefined; rest: Fields } {
  const flat = Object.entries(given).filter(([key]) => names.includes(key));
  const rest = Object.fromEntries(Object.entries(given).filter(([key]) => key !== name && !names.includes(key)));
  const own = inJson(given[name]);
  if (typeof own === "string") return { payload: { ...Object.fromEntries(flat), [name]: own }, rest };
  if (flat.length === 0 && !isFields(own))
    return { payload: undefined, rest: name in given ? { ...rest, [name]: own } : rest };
  return { payload: { ...Object.fromEntries(flat), ...(isFields(own) ? own : {}) }, rest };
}

/** The object of a JSON text; any other value unchanged. */
function inJson(value: unknown): unknown {
  if (typeof value !== "string" || !value.trim().startsWith("{")) return value;
  try {
    const read: unknown = JSON.parse(value);
    return isFields(read) ? read : value;
  } catch {
    return value;
  }
}

function splitPayload(payload: Fields | undefined): { payload: Fields | undefined; delivery: Fields | undefined } {
  if (!payload) return { payload, delivery: undefined };
  const { deliver, ...others } = payload;
  const entries = Object.entries(others);
  const moved = Object.fromEntries(entries.filter(([key]) => OF_DELIVERY.includes(key)));
  const { provider, bestEffortDeliver, ...named } = moved;
  const hasDelivery = deliver !== undefined || Object.keys(moved).length > 0;
  return {
    payload: Object.fromEntries(entries.filter(([key]) => !OF_DELIVERY.includes(key))),
    delivery: hasDelivery
      ? {
          mode: deliver === false ? "none" : "announce",
          ...(provider !== undefined && { channel: provider }),
          ...named,
          ...(bestEffortDeliver !== undefined && { bestEffort: bestEffortDeliver }),
        }
      : undefined,
  };
}

function mergedDelivery(own: unknown, inside: Fields | undefined, webhook: string | undefined): unknown {
  if (own === null || (own !== undefined && !isFields(own))) return own;
  if (own === undefined && !inside && webhook === undefined) return undefined;
  const called = webhook === undefined ? {} : { mode: "webhook", to: webhook };
  return { ...called, ...inside, ...own };
}

const KINDS: Readonly<Record<string, string>> = { systemevent: "systemEvent", agentturn: "agentTurn" };

function payloadOf({ kind, payload, ...given }: Fields): Fields {
  const rest = typeof payload === "string" ? { message: payload, ...given } : given;
  const named = typeof kind === "string" ? (KINDS[kind.toLowerCase()] ?? kind) : kindOf(rest);
  if (named === "systemEvent") return { kind: named, ...renamed(rest, "message", "text") };
  if (named === "agentTurn") return { kind: named, ...renamed(rest, "text", "message") };
  return named === undefined ? rest : { kind: named, ...rest };
}

/** The kind of a payload that names none; undefined for a patch without a text. */
function kindOf(rest: Fields): string | undefined {
  if (rest["message"] !== undefined) return "agentTurn";
  return rest["text"] === undefined ? undefined : "systemEvent";
}

function renamed(rest: Fields, from: string, to: string): Fields {
  if (rest[from] === undefined || rest[to] !== undefined) return rest;
  const { [from]: value, ...others } = rest;
  return { ...others, [to]: value };
}

function scheduleOf({ kind, schedule, atMs, cron, every, ...rest }: Fields): Fields {
  const expr = typeof schedule === "string" ? schedule : cron;
  const atTime = typeof atMs === "string" && /^\d+$/.test(atMs) ? Number(atMs) : atMs;
  const all: Fields = {
    ...rest,
    ...(typeof atTime === "number" && { at: isoOf(atTime) }),
    ...(expr !== undefined && rest["expr"] === undefined && { expr }),
    ...(every !== undefined && rest["everyMs"] === undefined && { everyMs: every }),
  };
  const named = kind ?? inferredKind(all);
  return { kind: named, ...withoutOthers(named, all) };
}

/** The ISO text of a time in milliseconds. A time beyond the calendar stays a number, so that the refusal names it. */
const isoOf = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms));

/** A schedule without numbers of other kinds, which mean nothing: models that fill every field write 0 or 1. */
function withoutOthers(kind: unknown, all: Fields): Fields {
  const others: Readonly<Record<string, readonly string[]>> = {
    at: ["everyMs", "anchorMs", "staggerMs"],
    every: ["staggerMs"],
    cron: ["everyMs", "anchorMs"],
  };
  const left = typeof kind === "string" && Object.hasOwn(others, kind) ? (others[kind] ?? []) : [];
  return Object.fromEntries(
    Object.entries(all).filter(([name, value]) => !left.includes(name) || typeof value !== "number"),
  );
}

function inferredKind(all: Fields): string {
  if (all["at"] !== undefined) return "at";
  return all["everyMs"] === undefined && all["anchorMs"] === undefined ? "cron" : "every";
}
