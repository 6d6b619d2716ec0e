import { fields, isRecord, list, shortNameIn, nonEmpty, number, strings, stringOr, timeIn } from "./json.ts";

/**
 * The refusal of a request. `detail` is `details.code`, which is more specific than `code`; `field` is the form field whose
 * value must change.
 */
export interface RequestRefusal {
  readonly code: string;
  readonly detail: string;
  readonly field?: string | undefined;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

/** A frame from the gateway. */
export type GatewayFrame =
  | { readonly type: "answer"; readonly id: string; readonly payload: unknown }
  | { readonly type: "refusal"; readonly id: string; readonly refusal: RequestRefusal }
  | { readonly type: "event"; readonly event: string; readonly payload: unknown; readonly seq?: number | undefined };

/** Report of the gateway when the page connects. Sizes are bytes, times milliseconds. */
export interface Hello {
  readonly version: string;
  readonly methods: readonly string[];
  readonly defaultAgent: string;
  readonly tickMs: number;
  readonly limits: Limits;
}

/** The largest sizes that the gateway accepts, in bytes. */
export interface Limits {
  readonly payload: number;
  readonly attachment: number;
  readonly image: number;
}

/** A line of the session list. */
export interface SessionRow {
  readonly key: string;
  readonly label?: string | undefined;
  readonly updatedAt?: number | undefined;
  readonly tokens: { readonly input: number; readonly output: number; readonly total: number; readonly window: number };
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly thinking?: string | undefined;
  readonly activeRuns: readonly string[];
  readonly active: boolean;
}

/** A model that the gateway offers. */
export interface ModelRow {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly reasoning: boolean;
  readonly available: boolean;
}

/** A command that waits for a person's permission. */
export interface Approval {
  readonly id: string;
  readonly sessionKey: string;
  readonly command: string;
  readonly cwd?: string | undefined;
  readonly reason?: string | undefined;
  /** The name and id of the person for whom it runs. */
  readonly principal?: string;
  readonly isOwner?: boolean;
  /** Paths of files; the permission is valid only while their content is unchanged. */
  readonly files: readonly string[];
  /** Names of the variables that plugins add to its environment. */
  readonly variables?: readonly string[];
  /** The answers that the approval offers; names of other versions too. */
  readonly answers: readonly string[];
  readonly expiresAt?: number | undefined;
}

/** A person's answer to an approval. */
export type Decision = "allow-once" | "allow-always" | "deny";

/** A stranger who waits for pairing. */
export interface Pairing {
  readonly channel: string;
  readonly code: string;
  /** Chosen by the stranger; the id when there is none. */
  readonly name: string;
  /** The platform's id. */
  readonly senderId: string;
  readonly expiresAt?: number | undefined;
}

/** A problem that stops the gateway, such as an invalid config or a full disk, and its fix. */
export interface Problem {
  readonly message: string;
  readonly fix?: string | undefined;
}

/** The part of `status` that the page shows. */
export interface GatewayStatus {
  readonly problems: readonly Problem[];
  readonly model: { readonly id: string; readonly provider: string; readonly demo: boolean };
}

/** Tokens of one reply. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  /** US dollars; 0 when the model costs nothing, or nobody knows its price. */
  readonly cost: number;
}

/** Reads one text frame; undefined when it is not a frame of protocol 4. */
export function readFrame(raw: string): GatewayFrame | undefined {
  const frame = parse(raw);
  if (!isRecord(frame)) return undefined;
  if (frame["type"] === "event") {
    const seq = typeof frame["seq"] === "number" ? frame["seq"] : undefined;
    return { type: "event", event: stringOr(frame["event"]), payload: frame["payload"], seq };
  }
  if (frame["type"] !== "res") return undefined;
  const id = stringOr(frame["id"]);
  if (frame["ok"] === true) return { type: "answer", id, payload: frame["payload"] };
  return { type: "refusal", id, refusal: readRefusal(frame["error"]) };
}

function parse(raw: string): unknown {
  try {
    const value: unknown = JSON.parse(raw);
    return value;
  } catch {
    return undefined;
  }
}

function readRefusal(value: unknown): RequestRefusal {
  const error = fields(value);
  const details = fields(error["details"]);
  const retry = error["retryAfterMs"] ?? details["retryAfterMs"];
  return {
    code: stringOr(error["code"], "UNKNOWN"),
    detail: stringOr(details["code"]),
    field: nonEmpty(details["field"]),
    message: stringOr(error["message"], "The gateway refused the request and gave no reason."),
    retryAfterMs: typeof retry === "number" ? retry : undefined,
  };
}

/** Reads `hello-ok`. The defaults for sizes are the defaults of gateway-protocol 4. */
export function readHello(value: unknown): Hello {
  const hello = fields(value);
  const policy = fields(hello["policy"]);
  const attachments = fields(policy["attachments"]);
  const defaults = fields(fields(hello["snapshot"])["sessionDefaults"]);
  const payload = number(policy["maxPayload"], 26_214_400);
  const attachment = number(attachments["maxBytes"], 20 * 1024 * 1024);
  return {
    version: stringOr(fields(hello["server"])["version"]),
    methods: strings(fields(hello["features"])["methods"]),
    defaultAgent: stringOr(defaults["defaultAgentId"], "main"),
    tickMs: number(policy["tickIntervalMs"], 15_000),
    limits: { payload, attachment, image: number(attachments["maxImageBytes"], attachment) },
  };
}

/** Reads the rows of `sessions.list`; rows without a key are left out. */
export function readSessions(value: unknown): readonly SessionRow[] {
  return list(fields(value)["sessions"]).flatMap((item) => {
    const row = fields(item);
    const key = nonEmpty(row["key"]);
    return key === undefined ? [] : [readSession(key, row)];
  });
}

function readSession(key: string, row: Record<string, unknown>): SessionRow {
  const activeRuns = strings(row["activeRunIds"]);
  return {
    key,
    label: nonEmpty(row["label"]) ?? nonEmpty(row["displayName"]) ?? nonEmpty(row["derivedTitle"]),
    updatedAt: timeIn(row["updatedAt"]),
    tokens: {
      input: number(row["inputTokens"]),
      output: number(row["outputTokens"]),
      total: number(row["totalTokens"]),
      window: number(row["contextTokens"]),
    },
    model: nonEmpty(row["model"]),
    provider: nonEmpty(row["modelProvider"]),
    thinking: nonEmpty(row["thinkingLevel"]),
    activeRuns,
    active: row["hasActiveRun"] === true || activeRuns.length > 0,
  };
}

/** Reads `models.list`. A model without `available` is available. */
export function readModels(value: unknown): readonly ModelRow[] {
  return list(fields(value)["models"]).flatMap((item) => {
    const row = fields(item);
    const id = nonEmpty(row["id"]);
    if (id === undefined) return [];
    const name = stringOr(row["name"], id);
    const available = row["available"] !== false;
    return [{ id, name, provider: stringOr(row["provider"]), reasoning: row["reasoning"] === true, available }];
  });
}

/** Reads one approval. Its fields are in `request` or next to its id; undefined without an id. */
export function readApproval(value: unknown): Approval | undefined {
  const item = fields(value);
  const id = nonEmpty(item["id"]);
  if (id === undefined) return undefined;
  const request = isRecord(item["request"]) ? item["request"] : item;
  return {
    id,
    sessionKey: stringOr(request["sessionKey"]),
    command: stringOr(request["command"]),
    cwd: nonEmpty(request["cwd"]),
    reason: nonEmpty(request["reason"]),
    ...principalIn(request),
    files: list(request["files"]).flatMap((file) => nonEmpty(fields(file)["path"]) ?? []),
    ...variablesIn(request),
    answers: list(request["allowedDecisions"] ?? ["allow-once", "allow-always", "deny"]).flatMap(
      (one) => nonEmpty(one) ?? [],
    ),
    expiresAt: timeIn(item["expiresAtMs"] ?? item["expiresAt"]),
  };
}

function variablesIn(request: Record<string, unknown>): Pick<Approval, "variables"> {
  const variables = list(request["variables"]).flatMap((name) => nonEmpty(name) ?? []);
  return variables.length === 0 ? {} : { variables };
}

/** Principal of the command: name and id, and whether it is an owner. */
function principalIn(request: Record<string, unknown>): Pick<Approval, "principal" | "isOwner"> {
  const { name, id, kind } = fields(request["principal"]);
  const known = [shortNameIn(name), shortNameIn(id)].filter((one) => one !== undefined);
  return known.length === 0 ? {} : { principal: known.join(", "), isOwner: nonEmpty(kind) === "owner" };
}

/** Reads the answer of `exec.approval.list`: a list, or an object with a list. */
export function readApprovals(value: unknown): readonly Approval[] {
  const items = Array.isArray(value) ? list(value) : list(fields(value)["approvals"]);
  return items.flatMap((item) => readApproval(item) ?? []);
}

/** The number of people who wrote and got no code, from the answer of `pairing.list`. */
export function readTurnedAway(value: unknown): number {
  return list(fields(value)["turnedAway"]).length;
}

/** Reads the answer of `pairing.list`; requests without a code are left out. */
export function readPairings(value: unknown): readonly Pairing[] {
  return list(fields(value)["requests"]).flatMap((item) => {
    const row = fields(item);
    const code = nonEmpty(row["code"]);
    if (code === undefined) return [];
    const senderId = shortNameIn(row["senderId"] ?? row["id"]) ?? "";
    const name = shortNameIn(row["name"]) ?? senderId;
    return [{ channel: stringOr(row["channel"]), code, name, senderId, expiresAt: timeIn(row["expiresAt"]) }];
  });
}

/** Reads the answer of `status`. */
export function readStatus(value: unknown): GatewayStatus {
  const status = fields(value);
  const model = fields(status["model"]);
  const ofConfig = readProblems(fields(status["config"])["problems"]);
  // `ready` also lists the config's problems, without their fix.
  const others = readProblems(fields(status["ready"])["problems"]).filter(
    ({ message }) => !ofConfig.some((known) => known.message === message),
  );
  return {
    problems: [...others, ...ofConfig],
    model: { id: stringOr(model["id"]), provider: stringOr(model["provider"]), demo: model["demo"] === true },
  };
}

function readProblems(value: unknown): readonly Problem[] {
  return list(value).flatMap((item) => {
    const message = nonEmpty(item) ?? nonEmpty(fields(item)["message"]);
    return message === undefined ? [] : [{ message, fix: nonEmpty(fields(item)["fix"]) }];
  });
}

/** Reads a usage record with the field names of pi (`input`, `cacheRead`) or of the gateway (`inputTokens`). */
export function readUsage(value: unknown): Usage | undefined {
  const usage = isRecord(value) && isRecord(value["usage"]) ? value["usage"] : fields(value);
  const cached = number(usage["cacheRead"] ?? usage["cacheReadTokens"]);
  const input = number(usage["input"] ?? usage["inputTokens"]);
  const output = number(usage["output"] ?? usage["outputTokens"]);
  const cost = number(fields(usage["cost"])["total"]);
  return input + output + cached === 0 ? undefined : { input, output, cached, cost };
}
