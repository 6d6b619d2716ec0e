import { answersIn, type Frame, type Recorded } from "./recorder.ts";

/** What differs in one row, a line each. */
export interface Differences {
  readonly row: string;
  readonly method: string;
  readonly isUnknownMethod: boolean;
  readonly lines: readonly string[];
}

/** Compares what two gateways brought for the same request. */
export function compare(real: Recorded, ours: Recorded): Differences {
  const about = { row: real.row, method: real.method };
  const [theirs, mine] = [answersIn(real), answersIn(ours)];
  if (isUnknown(mine[0]) && !isUnknown(theirs[0])) {
    return { ...about, isUnknownMethod: true, lines: [`the real gateway answers ${told(theirs[0])}`] };
  }
  const lines = [
    ...otherAnswer(theirs, mine),
    ...otherShape(theirs, mine),
    ...otherOrder(real, ours),
    ...otherEvents(real, ours),
  ];
  return { ...about, isUnknownMethod: false, lines };
}

const isUnknown = (answer: Frame | undefined) => told(answer).includes("unknown method");

function told(answer: Frame | undefined): string {
  if (answer === undefined) return "nothing";
  if (answer["ok"] === true) return "ok";
  const { code, message, details } = (answer["error"] ?? {}) as { code?: string; message?: string; details?: unknown };
  return `${code}: ${message}${details === undefined ? "" : ` ${JSON.stringify(details)}`}`;
}

function otherAnswer(theirs: readonly Frame[], mine: readonly Frame[]): string[] {
  const lines: string[] = [];
  if (theirs.length !== mine.length) lines.push(`${mine.length} answers instead of ${theirs.length}`);
  const [their, my] = [theirs[0], mine[0]];
  const codes = [codeOf(their), codeOf(my)];
  if (codes[0] !== codes[1]) lines.push(`answer: ${told(my)}; the real gateway: ${told(their)}`);
  return lines;
}

/** What clients branch on. */
function codeOf(answer: Frame | undefined): string {
  if (answer === undefined || answer["ok"] === true) return answer === undefined ? "none" : "ok";
  const { code, details } = (answer["error"] ?? {}) as { code?: string; details?: { code?: string; reason?: string } };
  return [code, details?.code ?? details?.reason].filter((part) => part !== undefined).join(" ");
}

function otherShape(theirs: readonly Frame[], mine: readonly Frame[]): string[] {
  return theirs.flatMap((their, index) => {
    const my = mine[index];
    if (their["ok"] !== true || my?.["ok"] !== true) return [];
    const prefix = index === 0 ? "" : `answer ${index + 1}: `;
    return shapeLines(shapeOf(their["payload"]), shapeOf(my["payload"])).map((line) => prefix + line);
  });
}

function shapeLines(theirs: Shape, mine: Shape): string[] {
  const lines: string[] = [];
  const missing = new Set<string>();
  for (const [path, types] of theirs) {
    if ([...missing].some((above) => path.startsWith(`${above}.`) || path.startsWith(`${above}[]`))) continue;
    const found = mine.get(path);
    const name = path === "" ? "the answer" : path;
    if (found === undefined) {
      missing.add(path);
      if (!isBelowEmpty(path, mine)) lines.push(`missing: ${name} (${list(types)})`);
    } else if (![...found].every((type) => types.has(type) || (isArray(type) && [...types].some(isArray)))) {
      lines.push(`other type: ${name} is ${list(found)}, not ${list(types)}`);
    } else if (found.has("empty array") && found.size === 1 && types.has("array")) {
      lines.push(`empty: ${name}`);
    }
  }
  return lines;
}

const list = (types: ReadonlySet<string>) => [...types].sort().join(" or ");
const isArray = (type: string) => type.endsWith("array");

function isBelowEmpty(path: string, mine: Shape): boolean {
  const at = path.lastIndexOf("[]");
  const types = at < 0 ? undefined : mine.get(path.slice(0, at));
  return types !== undefined && !types.has("array");
}

/** Events that say nothing about the request before them. */
const OTHERS = new Set(["tick", "health", "presence", "heartbeat"]);

function otherOrder(real: Recorded, ours: Recorded): string[] {
  const [theirs, mine] = [orderOf(real), orderOf(ours)];
  const lines = theirs.filter((step) => !mine.includes(step)).map((step) => `no event: ${step}`);
  const isBefore = (steps: readonly string[], step: string) => steps.indexOf(step) < steps.indexOf("answer");
  const early = mine.filter((step) => isBefore(mine, step) && theirs.includes(step) && !isBefore(theirs, step));
  if (early.length > 0) lines.push(`before the answer instead of after it: ${early.join(", ")}`);
  return lines;
}

/** Compares the payloads of the events that both sent. */
function otherEvents(real: Recorded, ours: Recorded): string[] {
  const [theirs, mine] = [payloadsOf(real), payloadsOf(ours)];
  return [...theirs].flatMap(([step, payloads]) => {
    const own = mine.get(step);
    if (own === undefined) return [];
    return shapeLines(shapeOf(payloads), shapeOf(own)).map((line) => `event ${step}: ${line.replace("[].", "")}`);
  });
}

const payloadsOf = ({ frames }: Recorded): Map<string, unknown[]> => {
  const payloads = new Map<string, unknown[]>();
  for (const { frame } of frames) {
    const step = frame["type"] === "event" ? stepOf(frame) : undefined;
    if (step !== undefined) payloads.set(step, [...(payloads.get(step) ?? []), frame["payload"]]);
  }
  return payloads;
};

/** The steps of a request in the order in which each came first. */
export function orderOf({ id, frames }: Recorded): string[] {
  let answers = 0;
  const steps = frames.map(({ frame }) => {
    if (frame["type"] !== "res") return stepOf(frame);
    if (frame["id"] !== id) return "answer to an earlier request";
    answers += 1;
    return answers === 1 ? "answer" : `answer ${answers}`;
  });
  return [...new Set(steps.filter((step) => step !== undefined))];
}

function stepOf(frame: Frame): string | undefined {
  const event = String(frame["event"]);
  if (OTHERS.has(event)) return undefined;
  const payload = (frame["payload"] ?? {}) as Record<string, unknown>;
  const data = (payload["data"] ?? {}) as Record<string, unknown>;
  const parts = [
    payload["state"],
    payload["stream"],
    payload["stream"] && data["phase"],
    event !== "chat" && payload["phase"],
    payload["reason"],
    payload["action"],
  ];
  return [event, ...new Set(parts.filter((part) => typeof part === "string"))].join(" ");
}

/** The types that the values at each path have: `sessions[].key` → `string`. */
type Shape = ReadonlyMap<string, ReadonlySet<string>>;

/** The shape of a JSON value; the elements of an array share their paths. */
function shapeOf(value: unknown): Shape {
  const shape = new Map<string, Set<string>>();
  add(shape, "", value);
  return shape;
}

function add(shape: Map<string, Set<string>>, path: string, value: unknown): void {
  const types = shape.get(path) ?? new Set<string>();
  shape.set(path, types.add(typeOf(value, path)));
  if (Array.isArray(value)) for (const item of value) add(shape, `${path}[]`, item);
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) add(shape, path === "" ? key : `${path}.${key}`, item);
  }
}

function typeOf(value: unknown, path: string): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length > 0 ? "array" : "empty array";
  if (typeof value === "string") return formOf(value, path);
  return typeof value;
}

const KEY_FIELD = /(?:^|[.\]])(?:\w*[sS]essionKey|key|spawnedBy|mainKey)s?(?:\[\])?$/;
const AGENT_KEY = /^agent:[^:]+:./;
const WORD_FIELD = /(?:^|[.\]])(?:status|state|kind|role|decision|scope|mode)$/;
const WORD = /^[a-z][\w-]{0,30}$/i;

/** A session key is in one of two forms; words that clients branch on are types of their own; every other text is a string. */
function formOf(text: string, path: string): string {
  if (WORD_FIELD.test(path) && WORD.test(text)) return `"${text}"`;
  if (!KEY_FIELD.test(path)) return "string";
  return AGENT_KEY.test(text) ? "key agent:…" : "string";
}
