import type { Answers } from "openclaw/plugin-sdk/answers";
import { rowName } from "./format.ts";
import { fields, isRecord, readJsonText, shortNameIn, nonEmpty, number, strings, stringOr, timeIn } from "./json.ts";
import { t } from "../words/words.ts";

/**
 * The refusal of a request. `detail` is `details.code`, which is more specific than `code`; `field` is the form field whose
 * value must change.
 */
export interface RequestRefusal {
  readonly code: string;
  readonly detail: string;
  readonly field?: string | undefined;
  readonly details: unknown;
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
  /** When a person pinned it (ms since 1970); unset while it is not. */
  readonly pinnedAt?: number | undefined;
  readonly tokens: { readonly input: number; readonly output: number; readonly total: number; readonly window: number };
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly thinking?: string | undefined;
  readonly activeRuns: readonly string[];
  readonly active: boolean;
}

/** A model that the gateway offers. */
export type ModelRow = Answers["models.list"]["models"][number];

/** Whether a model can be chosen; an older gateway does not say it. */
export const isAvailable = ({ available }: ModelRow): boolean => available !== false;

/** A command that waits for a person's permission. */
export type Approval = Answers["exec.approval.list"][number];

/** A person's answer to an approval. */
export type Decision = Answers["exec.approval.resolve"]["decision"];

/** A stranger who waits for pairing. `name` is the stranger's choice, or the id. */
export type Pairing = Answers["pairing.list"]["requests"][number] & { readonly name: string };

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
  const frame = readJsonText(raw);
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

function readRefusal(value: unknown): RequestRefusal {
  const error = fields(value);
  const details = fields(error["details"]);
  const retry = error["retryAfterMs"] ?? details["retryAfterMs"];
  return {
    code: stringOr(error["code"], "UNKNOWN"),
    detail: stringOr(details["code"]),
    field: nonEmpty(details["field"]),
    details,
    message: stringOr(error["message"], t("The gateway refused the request and gave no reason.")),
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

/** Reads the rows of `sessions.list`; another program may have written their texts. */
export function readSessions({ sessions }: Answers["sessions.list"]): readonly SessionRow[] {
  return sessions.flatMap((item) => {
    const row = fields(item);
    const key = nonEmpty(row.key);
    return key === undefined ? [] : [readSession(key, row)];
  });
}

function readSession(key: string, row: Partial<Answers["sessions.list"]["sessions"][number]>): SessionRow {
  const activeRuns = strings(row.activeRunIds);
  return {
    key,
    label: rowName({ key, label: row.label, displayName: row.displayName }),
    updatedAt: timeIn(row.updatedAt),
    pinnedAt: timeIn(row.pinnedAt),
    tokens: {
      input: number(row.inputTokens),
      output: number(row.outputTokens),
      total: number(row.totalTokens),
      window: number(row.contextTokens),
    },
    model: nonEmpty(row.model),
    provider: nonEmpty(row.modelProvider),
    thinking: nonEmpty(row.thinkingLevel),
    activeRuns,
    active: row.hasActiveRun === true || activeRuns.length > 0,
  };
}

/** Reads the approval in an event; undefined when it is none. */
export const readApproval = (payload: unknown): Approval | undefined => (isApproval(payload) ? payload : undefined);

/** The name and id of the person for whom a command runs. */
export const principalText = ({ name, id }: NonNullable<Approval["request"]["principal"]>): string =>
  [shortNameIn(name), shortNameIn(id)].filter((one) => one !== undefined).join(", ");

const isApproval = (value: unknown): value is Approval =>
  nonEmpty(fields(value)["id"]) !== undefined && isRecord(fields(value)["request"]);

/** Reads the requests of `pairing.list`. */
export const readPairings = ({ requests }: Answers["pairing.list"]): readonly Pairing[] =>
  requests.map((request) => {
    const senderId = shortNameIn(request.senderId) ?? "";
    return { ...request, senderId, name: shortNameIn(request.name) ?? senderId };
  });

/** Reads the answer of `status`. */
export function readStatus({ config, ready, model }: Answers["status"]): GatewayStatus {
  const ofConfig = config?.problems ?? [];
  // `ready` also lists the config's problems, without their fix.
  const others = (ready?.problems ?? []).filter((text) => !ofConfig.some(({ message }) => message === text));
  return {
    problems: [...others.map((message) => ({ message })), ...ofConfig],
    model: { id: model?.id ?? "", provider: model?.provider ?? "", demo: model?.demo === true },
  };
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
