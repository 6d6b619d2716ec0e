import { nonEmpty, ownText } from "./json.ts";
import { language, seen, t } from "../words/words.ts";

const CHANNELS: Readonly<Record<string, string>> = {
  cli: t("Command line"),
  discord: "Discord",
  signal: "Signal",
  slack: "Slack",
  telegram: "Telegram",
  webchat: t("Web"),
  whatsapp: "WhatsApp",
};

/** The first words of keys of conversations that the gateway begins by itself. */
const BEGUN: Readonly<Record<string, string>> = { cron: t("Job"), hook: t("Webhook") };

const LIFECYCLES: Readonly<Record<string, string>> = {
  off: t("off"),
  stopped: t("stopped"),
  starting: t("starting"),
  running: t("running"),
  trouble: t("in trouble"),
  dead: t("given up"),
  unknown: t("unknown"),
};

const THINKING: Readonly<Record<string, string>> = {
  off: t("off"),
  minimal: t("minimal"),
  low: t("low"),
  medium: t("medium"),
  high: t("high"),
  xhigh: t("xhigh"),
};

/** A level of thinking, as the gateway names it, for people. */
export const thinkingText = (level: string): string => ownText(THINKING, level) ?? level;

/** The state of a channel's account, as the gateway names it, for people. */
export const lifecycleText = (lifecycle: string): string => ownText(LIFECYCLES, lifecycle) ?? lifecycle;

/** The short form of a session key: without the `agent:` part of the default agent, and with `main` written in full. */
export function plainKey(key: string, defaultAgent = "main"): string {
  const prefix = `agent:${defaultAgent}:`;
  const bare = key.startsWith(prefix) ? key.slice(prefix.length) : key;
  return bare === "main" ? "webchat:default:operator" : bare;
}

/** The agent of a session key; undefined for the default one. */
export const agentInKey = (key: string, defaultAgent?: string): string | undefined =>
  /^agent:([^:]+):(?=.)/.exec(plainKey(key, defaultAgent))?.[1];

/** The same key without its agent. */
const withoutAgent = (key: string): string => plainKey(key).replace(/^agent:[^:]+:(?=.)/, "");

/** Whether the session was begun on a page and is not the main one. */
export const isOwnChat = (key: string): boolean =>
  withoutAgent(key).startsWith("webchat:") && plainKey(key) !== plainKey("main");

/** The channel of a session key, as a text for people. */
export function channelName(key: string): string {
  const channel = withoutAgent(key).split(":")[0] ?? "";
  return ownText(CHANNELS, channel) ?? ownText(BEGUN, channel) ?? seen(channel);
}

/** What begins the conversation in place of a person: a job, a webhook; undefined where a person does. */
export const begunBy = (key: string): string | undefined => ownText(BEGUN, withoutAgent(key).split(":")[0] ?? "");

/** The chat app of a conversation with somebody else; undefined for the operator's own, and those of subagents. */
export function chatApp(key: string): string | undefined {
  const plain = withoutAgent(key);
  const channel = plain.split(":")[0] ?? "";
  return plain.includes("::") || channel === "webchat" || channel === "cli" ? undefined : ownText(CHANNELS, channel);
}

/** Where the person or group of a chat app's conversation is reached, as `send` takes it; undefined for other sessions. */
export function reachedPerson(key: string) {
  if (chatApp(key) === undefined) return undefined;
  const parts = withoutAgent(key).split(":").map(unescaped);
  const hasThread = parts.length > 4 && parts.at(-2) === "thread";
  const [channel = "", accountId = "", ...chat] = hasThread ? parts.slice(0, -2) : parts;
  const to = chat.length === 2 && chat[0] === "group" ? `group:${chat[1]}` : `direct:${chat.join(":")}`;
  return { channel, accountId, to, ...(hasThread && { threadId: parts.at(-1) }) };
}

const MOST_LABEL = 512;

interface Named {
  readonly key: string;
  readonly label?: unknown;
  readonly displayName?: unknown;
  readonly derivedTitle?: unknown;
}

/**
 * The name of a session in a list of the gateway: the one that a person gave it, else that of its person, group, job or
 * webhook, else its beginning; undefined when it has none.
 */
export function rowName({ key, label, displayName, derivedTitle }: Named): string | undefined {
  const given = nonEmpty(label);
  if (given !== undefined) return given;
  const name = nonEmpty(displayName);
  const begun = begunBy(key);
  // No person wrote its beginning.
  if (begun !== undefined) return name && t("{kind}: {name}", { kind: begun, name });
  return name ?? nonEmpty(derivedTitle);
}

/** The title of a session: its label in one line, else where it takes place. */
export function sessionTitle(key: string, label?: string): string {
  if (label !== undefined) return seen(label.replace(/\s+/g, " ")).slice(0, MOST_LABEL);
  if (plainKey(key) === "webchat:default:operator") return t("Main chat");
  const plain = withoutAgent(key);
  if (plain.startsWith("webchat:")) return t("New chat");
  const subagent = plain.split("::")[1];
  if (subagent !== undefined) return t("Subagent {subagent}", { subagent });
  if (/^cron:[^:]+:run:/.test(plain)) return t("Run of a job");
  const group = /:group:(.+)$/.exec(plain)?.[1];
  const peer = group === undefined ? plain.split(":").at(-1) : t("group {group}", { group });
  return seen(factLine([channelName(key), unescaped(peer ?? plain)]));
}

/** The titles of conversations in one list: where several have one, each with its time, and its key if that is not enough. */
export function titlesApart(
  rows: readonly {
    readonly key: string;
    readonly label?: string | undefined;
    readonly updatedAt?: number | undefined;
  }[],
): ReadonlyMap<string, string> {
  const plain = rows.map(({ key, label, updatedAt }) => ({ key, title: sessionTitle(key, label), updatedAt }));
  const timed = plain.map((row) => ({
    key: row.key,
    title:
      row.updatedAt === undefined || isAlone(row.title, plain)
        ? row.title
        : factLine([row.title, dayAndTime(row.updatedAt)]),
  }));
  return new Map(
    timed.map(({ key, title }) => [key, isAlone(title, timed) ? title : factLine([title, plainKey(key)])] as const),
  );
}

const isAlone = (title: string, rows: readonly { readonly title: string }[]): boolean =>
  rows.filter((row) => row.title === title).length === 1;

/** Parts in one line, without those that say nothing. */
export const factLine = (parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part.trim() !== "").join(" · ");

function unescaped(part: string): string {
  return part.replaceAll("%3A", ":").replaceAll("%25", "%");
}

/** The beginning of a message as a title; at most 48 characters. */
export function titleOf(message: string): string {
  const line = message.replace(/\s+/g, " ").trim();
  return line.length <= 48 ? line : `${line.slice(0, 47).replace(/\s+\S*$/, "")}…`;
}

/** The words as a sentence: with a capital, unless they begin with the name of a file or a key, and a full stop. */
export function sentence(words: string): string {
  const isName = /^\S+[./:]\S/.test(words);
  const first = words.charAt(0);
  return `${isName ? first : first.toUpperCase()}${words.slice(1).replace(/([^.!?…])$/, "$1.")}`;
}

/** A number in short form: 950, 12.3k, 1.2M. */
export function shortCount(value: number): string {
  if (value < 1000) return String(value);
  if (value < 999_500) return `${shortDecimal(value / 1000, value < 99_950 ? 1 : 0)}k`;
  return `${shortDecimal(value / 1_000_000, 1)}M`;
}

const shortDecimal = (value: number, digits: number): string =>
  value.toLocaleString(language(), { maximumFractionDigits: digits, useGrouping: false });

/** A short text for an age: now, 5m, 3h, 2d, then the day. Both times are milliseconds since 1970. */
export function ago(at: number, now: number): string {
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return t("now");
  if (minutes < 60) return t("{n}m", { n: minutes });
  if (minutes < 24 * 60) return t("{n}h", { n: Math.floor(minutes / 60) });
  if (minutes < 7 * 24 * 60) return t("{n}d", { n: Math.floor(minutes / (24 * 60)) });
  return dayText(at);
}

// A formatter is slow to make, and a long conversation has many times.
const TIME = new Intl.DateTimeFormat(language(), { timeStyle: "short" });
const TIME_WITH_SECONDS = new Intl.DateTimeFormat(language(), { timeStyle: "medium" });
const DAY_AND_TIME = new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" });

/** A time of the day, as the language writes it: `3:44 PM`, `15:44`. */
export const timeOfDay = (at: number | Date): string => TIME.format(at);

/** The same with its seconds. */
export const timeWithSeconds = (at: number | Date): string => TIME_WITH_SECONDS.format(at);

/** A day and a time of it: `Nov 30, 2026, 3:44 PM`. */
export const dayAndTime = (at: number | Date): string => DAY_AND_TIME.format(at);

const FULL_TIME = new Intl.DateTimeFormat(language(), { dateStyle: "full", timeStyle: "long" });

/** The same with the day of the week, the seconds and the time zone. */
export const fullTime = (at: number | Date): string => FULL_TIME.format(at);

const DAY = new Intl.DateTimeFormat(language(), { dateStyle: "medium" });
const DAY_OF_UTC = new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeZone: "UTC" });

/** A day: `Nov 30, 2026`. A time is that of the browser's zone, and `2026-11-30` is that day everywhere. */
export function dayText(day: number | string): string {
  if (typeof day === "number") return DAY.format(day);
  const at = Date.parse(day);
  return Number.isNaN(at) ? day : DAY_OF_UTC.format(at);
}

/** A number of bytes, as a text for people. */
export function size(bytes: number): string {
  if (bytes < 1024 * 1024) return t("{n} KB", { n: Math.ceil(bytes / 1024) });
  const mb = bytes / (1024 * 1024);
  return mb < 1024 ? t("{n} MB", { n: decimal(mb) }) : t("{n} GB", { n: decimal(mb / 1024) });
}

/** A number with one digit after the point, as the language writes it. */
export const decimal = (value: number): string =>
  value.toLocaleString(language(), { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** A length of time, as `3 d 4 h`, `2 h 5 min`, `12 min` or `40 s`. */
export function lasting(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  if (days > 0) return t("{days} d {hours} h", { days, hours });
  if (hours > 0) return t("{hours} h {minutes} min", { hours, minutes: minutes % 60 });
  return minutes > 0 ? t("{n} min", { n: minutes }) : t("{n} s", { n: Math.max(0, Math.floor(ms / 1000)) });
}

/** A time span in seconds, such as `0.8 s` or `12 s`. */
export const seconds = (ms: number): string =>
  t("{n} s", { n: ms < 9950 ? decimal(ms / 1000) : Math.round(ms / 1000) });

/** An amount of money as the language writes it: `$1.20`, `1,20 $`. */
export const money = (usd: number, digits = 2): string =>
  usd.toLocaleString(language(), {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });

/** As `$1.20` or `$0.0042`; undefined for nothing. */
export const dollars = (usd: number): string | undefined => (usd > 0 ? money(usd, usd >= 0.1 ? 2 : 4) : undefined);

/** A length of time as a clock shows it: `0:07`, `12:30`, `1:02:03`. */
export function clockTime(ms: number): string {
  const all = Math.floor(ms / 1000);
  const [hours, minutes, rest] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** A command for a POSIX shell with further words, each of which stays one word as it is. */
export const shellCommand = (command: string, words: readonly string[]): string =>
  [command, ...words.map(shellWord)].join(" ");

// A word that begins with `=` or `~` is another one to some shells.
const shellWord = (text: string): string =>
  /^[\w@%+:,./-][\w@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
