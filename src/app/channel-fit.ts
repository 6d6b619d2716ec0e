import { OpenClawError } from "../types/errors.ts";

/** What keeps an account from working that its values already show; `key` is the account's. */
export interface Misfit {
  readonly key: string;
  readonly kind: "shape" | "missing";
  readonly message: string;
  readonly fix: string;
}

interface Shape {
  readonly pattern: RegExp;
  readonly what: string;
  /** In the words of who has to look for it. */
  readonly fix: string;
}

const SLACK_PAGE = "api.slack.com/apps shows it";

const SHAPES: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  slack: {
    botToken: {
      pattern: /^xox(?:b|e\.xoxb)-/,
      what: "Slack's bot token begins with xoxb-",
      fix: `${SLACK_PAGE} under OAuth & Permissions.`,
    },
    appToken: {
      pattern: /^xapp-/,
      what: "Slack's app token begins with xapp-",
      fix: `${SLACK_PAGE} under Basic Information.`,
    },
    signingSecret: {
      pattern: /^(?!xox|xapp-)/,
      what: "Slack's signing secret is no token",
      fix: `${SLACK_PAGE} under Basic Information.`,
    },
  },
  telegram: {
    botToken: {
      pattern: /^\d+:[\w-]+$/,
      what: "Telegram's bot token is a number, a colon and letters, as 123456:ABC-DEF",
      fix: "@BotFather shows it.",
    },
  },
};

type Values = Readonly<Record<string, unknown>>;
type Given = ReadonlyMap<string, unknown>;

/** Keys that an account gets because of others that it is given. Without a socket's token Slack's requests are what is left. */
export function impliedBy(channel: string, given: Given, before: Values): Given {
  const all = { ...before, ...Object.fromEntries(given) };
  const isHttp = channel === "slack" && given.has("signingSecret") && !all["appToken"] && all["mode"] === undefined;
  return isHttp ? new Map([...given, ["mode", "http"]]) : given;
}

/** The first thing that is wrong with an account as it would stand; values in files and variables are not looked at. */
export function misfitOf(channel: string, given: Given, before: Values): Misfit | undefined {
  return (
    badShape(channel, given) ??
    (channel === "slack" ? slackMissing({ ...before, ...Object.fromEntries(given) }) : undefined)
  );
}

function badShape(channel: string, given: Given): Misfit | undefined {
  const shapes = Object.entries(Object.hasOwn(SHAPES, channel) ? (SHAPES[channel] ?? {}) : {});
  for (const [key, { pattern, what, fix }] of shapes) {
    const value = given.get(key);
    if (typeof value === "string" && !isReference(value) && !pattern.test(value)) {
      return { key, kind: "shape", message: `${what}: the given one does not fit.`, fix };
    }
  }
  return undefined;
}

/** `${NAME}`, which the config resolves. */
const isReference = (value: string): boolean => value.startsWith("${");

function slackMissing({ mode, botToken, appToken, signingSecret }: Values): Misfit | undefined {
  const missing = (key: string, message: string, fix: string): Misfit => ({ key, kind: "missing", message, fix });
  if (!botToken) return missing("botToken", "Slack needs a bot token.", "Add --bot-token xoxb-….");
  if (mode === "http" && !signingSecret) {
    return missing("signingSecret", "Slack needs its signing secret for the Events API.", "Add --secret.");
  }
  if (mode === "http" || appToken) return undefined;
  return missing(
    "appToken",
    "Slack needs an app token for Socket Mode.",
    "Add --app-token xapp-…, or --secret for the Events API.",
  );
}

export const misfit = ({ message, fix }: Misfit): OpenClawError => new OpenClawError("USAGE", { message, fix });
