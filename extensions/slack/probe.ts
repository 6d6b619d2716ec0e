import { OpenClawError } from "openclaw/plugin-sdk";
import { openSlack, requireSecret, whoAmI } from "./transport/api.ts";
import type { Self, Slack } from "./transport/api.ts";
import type { SlackConfig } from "./config.ts";
import { authError, reasonOf } from "./transport/failures.ts";

/** The scopes of the bot token, each with what needs it (docs.slack.dev/reference/scopes). */
const SCOPES: Readonly<Record<string, string>> = {
  "chat:write": "answers",
  "app_mentions:read": "mentions",
  "im:history": "direct chats",
  "channels:history": "public channels",
  "groups:history": "private channels",
  "mpim:history": "group chats",
  "channels:read": "names of channels",
  "groups:read": "names of private channels",
  "im:read": "messages missed in direct chats",
  "mpim:read": "messages missed in group chats",
  "im:write": "the first message to a person",
  "users:read": "names of people",
  "files:read": "files of people",
  "files:write": "files of the agent",
  "reactions:read": "reactions of people",
  "reactions:write": "reactions of the agent",
};

/** The scopes that the app lacks, each with what needs it. Empty when Slack does not list scopes. */
export function missingScopes({ scopes }: Pick<Self, "scopes">): readonly string[] {
  if (scopes.length === 0) return [];
  return Object.entries(SCOPES)
    .filter(([scope]) => !scopes.includes(scope))
    .map(([scope, what]) => `${scope} (${what})`);
}

/** Throws `OpenClawError` when a token is missing or wrong or cannot send, an `Error` when Slack does not answer. */
export async function probeAccount(config: SlackConfig, signal: AbortSignal): Promise<string> {
  if (config.mode === "http") requireSecret(config.signingSecret, "signingSecret", "the app's signing secret");
  const slack = openSlack(config, undefined);
  const self = await withDeadline(() => whoAmI(slack), signal);
  if (slack.appToken !== undefined) await withDeadline(() => openSocketUrl(slack), signal);
  const missing = missingScopes(self);
  if (missing.some((scope) => scope.startsWith("chat:write "))) throw cannotSend();
  const lacks = missing.length === 0 ? "" : `; the app lacks ${missing.join(", ")}`;
  return `@${self.name} in ${self.team}${lacks}`;
}

/** Slack drops the address when no socket is opened with it. */
const openSocketUrl = async ({ calls, appToken = "" }: Slack): Promise<void> =>
  void (await calls.apps.connections.open({ token: appToken }));

async function withDeadline<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const given = Promise.withResolvers<never>();
  const give = (): void => given.reject(new Error("Slack did not answer in time"));
  signal.addEventListener("abort", give, { once: true });
  if (signal.aborted) give();
  try {
    return await Promise.race([ask(), given.promise]);
  } catch (error) {
    throw authError(error) ?? (error instanceof OpenClawError ? error : new Error(reasonOf(error), { cause: error }));
  } finally {
    signal.removeEventListener("abort", give);
  }
}

const cannotSend = (): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", {
    message: "The Slack app lacks the scope chat:write.",
    fix: "Add chat:write to the bot token's scopes, install the app again and set the new channels.slack.botToken.",
  });
