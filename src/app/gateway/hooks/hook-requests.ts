import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { HookDesk } from "../../../automation/hooks/desk.ts";
import { type HookAct, type HookRefusal, readAgent, readWake } from "../../../automation/hooks/acts.ts";
import type { HookMapping, HooksConfig } from "../../../automation/hooks/config.ts";
import { actsOf, mappingFor, mappingPath } from "../../../automation/hooks/mappings.ts";
import { isSameSecret, isSigned } from "../../../automation/hooks/verify.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import { isUnguessable } from "../../../server/transport/auth.ts";
import type { WebhookRequest } from "../../../types/chat/channel.ts";
import { defined } from "../../../utils/defined.ts";
import { isFields } from "../../../utils/fields.ts";
import type { TemplateScene } from "../../../automation/hooks/mappings.ts";
import { isInside, realOf } from "../../../utils/real-path.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { withinTold } from "../../../utils/within.ts";

/** An answer in JSON. */
export interface HookAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface HookRequestPorts {
  readonly desk: HookDesk;
  readonly clock: Clock;
  readonly log: Log;
  /** The section `hooks` of the current config. */
  config(): HooksConfig;
  /** Whether there is an agent with this id. */
  hasAgent(id: string): boolean;
  readonly transforms: TransformPlace;
}

/** A request below the path of hooks. */
export interface HookRequest extends WebhookRequest {
  /** The part after the path of hooks: `wake`, `agent`, or the name of a mapping. */
  readonly name: string;
  /**
   * True when the sender, an address that others may share, showed too many wrong tokens: only a token or a signature
   * that nobody can guess counts.
   */
  readonly isLocked: boolean;
}

const MOST_KEY_CHARS = 256;
const MOST_DEPTH = 200;
export const UNKNOWN: HookAnswer = {
  status: 401,
  body: { ok: false, error: "the token of hooks is needed as a bearer" },
};

/** Answers a request whose body was read. Everything that the request begins is durable when it is acknowledged. */
export async function answerHook(request: HookRequest, ports: HookRequestPorts): Promise<HookAnswer> {
  const config = ports.config();
  const payload = readJson(request.body);
  const mapping = isOwn(request.name) ? undefined : mappingFor(config, request.name, payload);
  if (!isAllowed(request, mapping, { config, now: ports.clock.now() })) return UNKNOWN;
  if (payload === undefined) return refused({ status: 400, error: "the body is no JSON object" });
  if (isTooDeep(payload)) return refused({ status: 400, error: `the body has more than ${MOST_DEPTH} levels` });
  const key = keyOf(request, payload, mapping);
  if (key !== undefined && key.length > MOST_KEY_CHARS)
    return refused({ status: 400, error: `the idempotency key has more than ${MOST_KEY_CHARS} characters` });
  if (request.name === "wake") return wake(payload, key, ports);
  if (request.name === "agent") return agent(payload, key, ports);
  if (!mapping) return refused({ status: 404, error: `there is no mapping for "${request.name}"` });
  return mapped(mapping, { request, payload, key }, ports);
}

const isOwn = (name: string): boolean => name === "wake" || name === "agent";

/** Whether the body of a request is worth reading: the request has the token, or a mapping may accept its signature. */
export function mayBeAllowed(
  request: Pick<HookRequest, "headers" | "name" | "isLocked">,
  { token, mappings }: HooksConfig,
): boolean {
  const isSignable = mappings.some(
    ({ verify, match: { path } }) =>
      verify && (path === undefined || mappingPath(path) === request.name) && !isOwn(request.name),
  );
  return isSignable || hasToken(request, token);
}

/** Whether a request is allowed: by the token, or by the signature of a mapping that has one. */
function isAllowed(
  request: HookRequest,
  mapping: HookMapping | undefined,
  { config, now }: { readonly config: HooksConfig; readonly now: number },
): boolean {
  const { verify } = mapping ?? {};
  if (!verify) return hasToken(request, config.token);
  return isSigned(request.headers[verify.header.toLowerCase()], request.body, verify.secret.reveal(), now);
}

function hasToken(
  { headers, isLocked }: Pick<HookRequest, "headers" | "isLocked">,
  token: HooksConfig["token"],
): boolean {
  const given = /^bearer\s+(\S+)\s*$/i.exec(headers["authorization"] ?? "")?.[1] ?? headers["x-openclaw-token"];
  if (given === undefined || token === undefined || !isSameSecret(given, token.reveal())) return false;
  return !isLocked || isUnguessable(given);
}

function readJson(body: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    return isFields(value) ? value : undefined;
  } catch {
    // The answer says that the body is no JSON.
    return undefined;
  }
}

/**
 * Whether a body has too many levels. Written for a model, with its levels indented, such a body would be many times as
 * long as it came.
 */
function isTooDeep(value: unknown, left = MOST_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((one) => isTooDeep(one, left - 1));
}

/** Headers with the id of a delivery, which senders that sign use as an idempotency key. */
const DELIVERY_HEADERS = [
  "x-github-delivery",
  "x-gitea-delivery",
  "x-forgejo-delivery",
  "x-gogs-delivery",
  "linear-delivery",
  "x-request-uuid",
];

function keyOf(
  { headers, name }: HookRequest,
  payload: Readonly<Record<string, unknown>>,
  mapping: HookMapping | undefined,
): string | undefined {
  const inBody = payload["idempotencyKey"];
  const given = headers["idempotency-key"] ?? headers["x-openclaw-idempotency-key"] ?? inBody;
  const key = given ?? (mapping?.verify && deliveryOf(headers, payload, mapping.verify.header));
  return typeof key === "string" && key !== "" ? `${name}\n${key}` : undefined;
}

/** The id of a signed delivery. Stripe's events have their id in the body. */
function deliveryOf(headers: HookRequest["headers"], payload: Readonly<Record<string, unknown>>, signature: string) {
  if (signature.toLowerCase() === "stripe-signature") return payload["id"];
  const name = DELIVERY_HEADERS.find((header) => headers[header] !== undefined);
  return name === undefined ? undefined : headers[name];
}

const refused = ({ status, error }: HookRefusal): HookAnswer => ({ status, body: { ok: false, error } });

async function wake(payload: unknown, key: string | undefined, ports: HookRequestPorts): Promise<HookAnswer> {
  const act = readWake(payload);
  if ("error" in act) return refused(act);
  const why = whyRefused(act, ports);
  if (why) return refused(why);
  const begun = await ports.desk.begin([act], key);
  if ("error" in begun) return refused(begun);
  return { status: 200, body: { ok: true, mode: act.mode, eventOutcome: "queued" } };
}

async function agent(payload: unknown, key: string | undefined, ports: HookRequestPorts): Promise<HookAnswer> {
  const read = readAgent(payload);
  if ("error" in read) return refused(read);
  const { act, isAwaited } = read;
  const why = whyRefused(act, ports);
  if (why) return refused(why);
  const begun = await ports.desk.begin([act], key);
  if ("error" in begun) return refused(begun);
  const [run] = begun;
  if (!run) return { status: 204, body: {} };
  if (!isAwaited) return { status: 202, body: { ok: true, runId: run.runId } };
  const completion = await ports.desk.completionOf(run, act.timeoutSeconds);
  return { status: 200, body: { ok: true, runId: run.runId, completion } };
}

/** The refusal of a session key or an agent that a request may not choose; undefined when it may. */
function whyRefused({ agentId, sessionKey }: HookAct, { config, hasAgent }: HookRequestPorts): HookRefusal | undefined {
  const { allowRequestSessionKey } = config();
  if (sessionKey !== undefined && !allowRequestSessionKey)
    return { status: 400, error: "sessionKey: hooks.allowRequestSessionKey is off" };
  return whyNoAgent(agentId, { config, hasAgent });
}

function whyNoAgent(agentId: string | undefined, { config, hasAgent }: Pick<HookRequestPorts, "config" | "hasAgent">) {
  if (agentId === undefined) return undefined;
  const { allowedAgentIds: ids } = config();
  if (ids && !ids.includes("*") && !ids.includes(agentId))
    return { status: 400, error: "agentId: it is none of hooks.allowedAgentIds" };
  return hasAgent(agentId) ? undefined : { status: 400, error: `agentId: there is no agent "${agentId}"` };
}

interface Mapped {
  readonly request: HookRequest;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly key: string | undefined;
}

async function mapped(
  mapping: HookMapping,
  { request, payload, key }: Mapped,
  ports: HookRequestPorts,
): Promise<HookAnswer> {
  const { query, name: path } = request;
  // Neither a prompt nor other code needs the token.
  const { authorization: _bearer, "x-openclaw-token": _token, ...headers } = request.headers;
  const scene = { headers, query, path, payload, now: new Date(ports.clock.now()).toISOString() };
  const failed = (error: unknown) =>
    ports.log.error("a transform of a hook failed", { mapping: mapping.id ?? path, error });
  const changed = mapping.transform && (await transformed(mapping.transform, scene, ports.transforms, failed));
  if (changed?.kind === "failed") {
    failed(changed.error);
    return refused({ status: 500, error: "the transform of this mapping failed; the log of the gateway says why" });
  }
  if (changed?.kind === "skipped") return { status: 204, body: {} };
  const acts = actsOf(mapping, scene);
  if ("error" in acts) return refused(acts);
  const all = acts.map((act) => (changed ? withFields(act, changed.fields) : act));
  const why = all.flatMap((act) => whyNoAgent(act.agentId, ports) ?? [])[0];
  if (why) return refused(why);
  const begun = await ports.desk.begin(all, key);
  if ("error" in begun) return refused(begun);
  if (begun.length === 0) return { status: 204, body: {} };
  return { status: 202, body: { ok: true, runIds: begun.map(({ runId }) => runId), dispatched: begun.length } };
}

/** An act with the fields that a transform has changed. */
function withFields(act: HookAct, fields: Readonly<Record<string, unknown>>): HookAct {
  const text = (field: string) => (typeof fields[field] === "string" ? fields[field] : undefined);
  const common = defined({ name: text("name"), agentId: text("agentId"), sessionKey: text("sessionKey") });
  if (act.kind === "wake") return { ...act, ...common, ...defined({ text: text("text") ?? text("message") }) };
  const deliver = typeof fields["deliver"] === "boolean" ? fields["deliver"] : undefined;
  const own = {
    message: text("message") ?? text("text"),
    channel: text("channel"),
    to: text("to"),
    model: text("model"),
  };
  return { ...act, ...common, ...defined({ ...own, deliver }) };
}

interface TransformPlace {
  readonly clock: Clock;
  /** Absolute path of the folder that modules must lie in. */
  dir(): string;
}

/** Result of a transform. `skipped`: the transform wants nothing to be done. */
type Transformed =
  | { readonly kind: "changed"; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: "skipped" }
  | { readonly kind: "failed"; readonly error: string };

const MOST_MS = 10_000;

/** Runs the operator's own code on a request. Never rejects. `failedLate` is called with an error after the time. */
async function transformed(
  { module, export: named }: NonNullable<HookMapping["transform"]>,
  { payload, headers, query, path }: TemplateScene,
  { clock, dir }: TransformPlace,
  failedLate: (error: unknown) => void,
): Promise<Transformed> {
  try {
    const run = await load(module, named, dir());
    const url = `/${path}?${new URLSearchParams(query).toString()}`;
    let answer: unknown;
    const work = (async () => {
      answer = await run({ payload, headers, url, path });
    })();
    if (!(await withinTold(work, MOST_MS, clock, failedLate)))
      return { kind: "failed", error: `it took longer than ${MOST_MS / 1000} seconds` };
    if (answer === null) return { kind: "skipped" };
    return { kind: "changed", fields: isFields(answer) ? answer : {} };
  } catch (error) {
    return { kind: "failed", error: errorText(error) };
  }
}

type Run = (request: object) => unknown;

/**
 * The function of a transform; a changed file is loaded anew. Rejects for a module outside of `dir`, and for one
 * without such a function.
 */
async function load(module: string, named: string | undefined, dir: string): Promise<Run> {
  const file = await realOf(resolve(dir, module));
  if (!isInside(file, await realOf(dir))) throw new Error(`${module} lies outside of ${dir}`);
  const { mtimeMs } = await stat(file);
  const loaded: unknown = await import(`${pathToFileURL(file).href}?${mtimeMs}`);
  const names = named === undefined ? ["default", "transform"] : [named];
  const found = names
    .map((name) => (isFields(loaded) ? loaded[name] : undefined))
    .find((one) => typeof one === "function");
  if (!isRun(found)) throw new Error(`${module} exports no function ${names.join(" or ")}`);
  return found;
}

const isRun = (value: unknown): value is Run => typeof value === "function";
