import type { GatewayEvent, Scope } from "../../types/method.ts";
import type { PushCategory, PushDevice, PushPerson, PushWishes } from "../../types/answers/push.ts";
import { cleanText } from "../../utils/text/clean-text.ts";
import { MOST_PUSH_BYTES } from "./delivery.ts";

/** A notification for devices whose page may be closed. */
export interface PushNotice {
  readonly category: PushCategory;
  /** The right without which nobody is told. */
  readonly scope: Scope;
  readonly agentId?: string | undefined;
  /** Names what it is about: a later notice with the same tag takes its place. */
  readonly tag: string;
  /** Where a click leads, from the page's own address. */
  readonly url: string;
  /** Sentence that says nothing that others may not read over the person's shoulder. */
  readonly text: Sentence;
  /** What it is about. */
  readonly detail: string;
  /** Until when it is of use, in epoch milliseconds. */
  readonly untilMs: number;
  /** Whether it waits for a person: another event tells that it does not any more. `process`: it does so at most as long as this process. */
  readonly waits: "process" | "lasting" | "not";
}

/** The sentences of notifications, and their translations by the code of the language; English where it has none. */
const SENTENCES = {
  "The agent waits for your decision.": { de: "Der Agent wartet auf deine Entscheidung." },
  "Somebody asks to be let in.": { de: "Jemand bittet um Zugang." },
  "A device asks for more rights.": { de: "Ein Gerät bittet um mehr Rechte." },
  "The agent has a question.": { de: "Der Agent hat eine Frage." },
  "A scheduled job has failed.": { de: "Ein geplanter Auftrag ist fehlgeschlagen." },
  "This does not wait for you any more.": { de: "Das wartet nicht mehr auf dich." },
  "Notifications reach this device.": { de: "Benachrichtigungen erreichen dieses Gerät." },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;
export type Sentence = keyof typeof SENTENCES;

/** The sentence in a language, as `de` or `de-AT`. */
export function inLanguage(sentence: Sentence, language = "en"): string {
  const [code = ""] = language.toLowerCase().split("-");
  const translations: Readonly<Record<string, string>> = SENTENCES[sentence];
  return (Object.hasOwn(translations, code) ? translations[code] : undefined) ?? sentence;
}

const DAY_MS = 86_400_000;
const NEEDS = "./?view=needs";

type Payload = Readonly<Record<string, unknown>>;
type NoticeParts = Omit<PushNotice, "scope" | "untilMs"> & { readonly untilMs?: number };

/** The notices of events, by the names of the events. Undefined where the event is none that anybody must be told. */
const NOTICES: Readonly<Record<string, (payload: Payload) => NoticeParts | undefined>> = {
  "exec.approval.requested": approval,
  "plugin.approval.requested": approval,
  "pairing.requested": (payload) => ({
    category: "approvalRequested",
    tag: pairingTag(payload),
    url: NEEDS,
    text: "Somebody asks to be let in.",
    detail: `${textOf(payload["name"]) || textOf(payload["senderId"])} (${textOf(payload["channel"])})`,
    waits: "lasting",
    ...timeOf(payload["expiresAt"]),
  }),
  "device.pair.requested": ({ requestId, displayName }) => ({
    category: "approvalRequested",
    tag: `device:${textOf(requestId)}`,
    url: NEEDS,
    text: "A device asks for more rights.",
    detail: textOf(displayName),
    waits: "process",
  }),
  "question.requested": ({ id, agentId, questions, expiresAtMs }) => ({
    category: "agentQuestion",
    agentId: textOf(agentId) || undefined,
    tag: `question:${textOf(id)}`,
    url: NEEDS,
    text: "The agent has a question.",
    detail: Array.isArray(questions) ? textOf(recordOf(questions[0])["question"]) : "",
    waits: "process",
    ...timeOf(expiresAtMs),
  }),
  cron: ({ jobId, action, status, error, job }) =>
    action !== "finished" || status !== "error"
      ? undefined
      : {
          category: "scheduledTaskFailed",
          agentId: textOf(recordOf(job)["agentId"]) || undefined,
          tag: `job:${textOf(jobId)}`,
          url: "./?view=jobs",
          text: "A scheduled job has failed.",
          detail: [textOf(recordOf(job)["name"]), textOf(error)].filter(Boolean).join(": "),
          waits: "not",
        },
};

/** The tags of what does not wait any more, by the names of the events that tell so. */
const ENDS: Readonly<Record<string, (payload: Payload) => string>> = {
  "exec.approval.resolved": ({ id }) => `approval:${textOf(id)}`,
  "plugin.approval.resolved": ({ id }) => `approval:${textOf(id)}`,
  "pairing.resolved": pairingTag,
  "device.pair.resolved": ({ requestId }) => `device:${textOf(requestId)}`,
  "question.resolved": ({ id }) => `question:${textOf(id)}`,
};

function approval({ id, request, expiresAtMs }: Payload): NoticeParts {
  const { agentId, title, command } = recordOf(request);
  return {
    category: "approvalRequested",
    agentId: textOf(agentId) || undefined,
    tag: `approval:${textOf(id)}`,
    url: NEEDS,
    text: "The agent waits for your decision.",
    detail: textOf(title) || textOf(command),
    waits: "process",
    ...timeOf(expiresAtMs),
  };
}

/** The tag of the notice of a stranger. */
export function pairingTag({ channel, account, senderId }: Payload): string {
  return `${PAIRING}${textOf(channel)}:${textOf(account)}:${textOf(senderId)}`;
}

const PAIRING = "pairing:";
/** Whether the tag is that of a stranger. */
export const isPairing = (tag: string): boolean => tag.startsWith(PAIRING);

const timeOf = (until: unknown) => (typeof until === "number" ? { untilMs: until } : {});

/** Something that people are told, or that what they were told of does not wait any more. */
export type News = { readonly notice: PushNotice } | { readonly endedTag: string };

/** The news of an event. Undefined for an event that is none; this costs nothing, since it is asked of every event. */
export function newsIn({ event, payload, scope = "operator.read" }: GatewayEvent, now: number): News | undefined {
  if (Object.hasOwn(ENDS, event)) return { endedTag: ENDS[event]?.(recordOf(payload)) ?? "" };
  if (!Object.hasOwn(NOTICES, event)) return undefined;
  const notice = NOTICES[event]?.(recordOf(payload));
  return notice && { notice: { untilMs: now + DAY_MS, ...notice, scope } };
}

/** Preferences of a person who has said nothing. */
export const DEFAULTS: PushPerson = {
  categories: {
    approvalRequested: true,
    agentFinished: false,
    agentQuestion: false,
    humanMentioned: false,
    scheduledTaskFailed: false,
    backgroundTaskFailed: false,
  },
  detailLevel: "private",
  quietHours: { enabled: false, startMinute: 22 * 60, endMinute: 7 * 60, timeZone: "UTC" },
  agentIds: [],
};

export const effectiveOf = (device: PushDevice): PushWishes => ({
  enabled: device.enabled,
  label: device.label,
  categories: { ...DEFAULTS.categories, ...device.categories },
  detailLevel: device.detailLevel ?? DEFAULTS.detailLevel,
  quietHours: device.quietHours ?? DEFAULTS.quietHours,
  agentIds: device.agentIds ?? DEFAULTS.agentIds,
});

/** Whether the device wants a notification of the kind now. `now`: epoch milliseconds. */
export function isWantedNow(
  { enabled, categories, quietHours: quiet, agentIds: agents }: PushWishes,
  { category, agentId }: Pick<PushNotice, "category" | "agentId">,
  now: number,
): boolean {
  if (!enabled || !categories[category]) return false;
  if (agents.length > 0 && (agentId === undefined || !agents.includes(agentId))) return false;
  if (!quiet.enabled || quiet.startMinute === quiet.endMinute) return true;
  const at = minuteIn(quiet.timeZone, now);
  const { startMinute, endMinute } = quiet;
  const isQuiet = startMinute < endMinute ? at >= startMinute && at < endMinute : at >= startMinute || at < endMinute;
  return !isQuiet;
}

function minuteIn(zone: string, now: number): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, Number(value)]));
  return (parts.get("hour") ?? 0) * 60 + (parts.get("minute") ?? 0);
}

/** Characters of an agent's name, and of the detail. Others may have written both. */
const MOST_NAME = 80;
const MOST_DETAIL = 300;

/** Title and text of a notification in a language, with as much as the device wants to show. */
export function wordsOf(notice: PushNotice, { detailLevel }: PushWishes, language?: string): PushWords {
  const text = inLanguage(notice.text, language);
  const about = detailLevel === "detailed" ? cleanText(notice.detail, MOST_DETAIL) : "";
  const title = detailLevel === "private" ? "" : cleanText(notice.agentId ?? "", MOST_NAME);
  return { title: title || GATEWAY, body: about === "" ? text : `${text}\n${about}` };
}

/** Title of a notification that names no agent. */
export const GATEWAY = "Gateway";

export interface PushWords {
  readonly title: string;
  readonly body: string;
}

interface Payloads extends PushWords {
  readonly tag: string;
  readonly url: string;
  /** It takes the place of a notification without a sound. */
  readonly isOver?: true;
}

/** The message to a browser. Its text is cut so that a push service takes it. */
export function payloadOf(given: Payloads): Record<string, unknown> {
  for (let { body } = given; ; body = body.slice(0, Math.floor(body.length / 2)).toWellFormed()) {
    const payload = { ...given, body, renotify: false };
    if (body === "" || Buffer.byteLength(JSON.stringify(payload)) <= MOST_PUSH_BYTES) return payload;
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const recordOf = (value: unknown): Payload =>
  typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {};
