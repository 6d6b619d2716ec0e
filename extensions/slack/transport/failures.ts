import { WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError, WebAPIRequestError } from "@slack/web-api";
import { answeredOutcome, OpenClawError, thrownOutcome } from "openclaw/plugin-sdk";
import type { SendResult } from "openclaw/plugin-sdk";

/** Errors of the Web API that stop an account until the operator acts (docs.slack.dev/reference/methods), each with its fix. */
const FATAL_ERRORS: Readonly<Record<string, string>> = {
  not_authed: "Set channels.slack.botToken and channels.slack.appToken.",
  invalid_auth: "Check channels.slack.botToken and channels.slack.appToken; the app's settings page shows both.",
  account_inactive: "Install the Slack app in the workspace again and set the new channels.slack.botToken.",
  token_revoked: "Install the Slack app in the workspace again and set the new channels.slack.botToken.",
  token_expired: "Set a channels.slack.botToken that does not expire, or turn token rotation off for the app.",
  not_allowed_token_type: "channels.slack.appToken must begin with xapp- and channels.slack.botToken with xoxb-.",
  user_removed_from_team: "Install the Slack app in the workspace again and set the new channels.slack.botToken.",
  team_disabled: "The Slack workspace is disabled; ask its administrator.",
  team_access_not_granted: "The app is not installed in this workspace; ask its administrator.",
  org_login_required: "The workspace is being moved to another organisation; install the Slack app there again.",
  missing_scope: "Add the scope to the Slack app, install it again and set the new token.",
};

/** Errors after which nothing was done and another try may succeed. */
const TRANSIENT = new Set(["service_unavailable", "request_timeout", "team_added_to_org", "accesslimited"]);
const RATE_LIMITED = new Set(["ratelimited", "rate_limited", "message_limit_exceeded"]);
/** Errors after which a part of the call may have been done, as Slack documents. */
const PARTLY_DONE = new Set(["internal_error", "fatal_error"]);

/** The client gives all of an answer that is no JSON, such as a page of a proxy, as its error code. */
const CODE = /^\w{1,100}$/;

/** Slack's error code, such as `channel_not_found`. Undefined for any other failure. */
export function errorCodeOf(error: unknown): string | undefined {
  if (!(error instanceof WebAPIPlatformError)) return undefined;
  const code: unknown = error.data.error;
  return typeof code === "string" && CODE.test(code) ? code : undefined;
}

/** Ignores a refusal with one of these codes, which means that the work is already done. Throws any other error. */
export function ignoreRefusal(error: unknown, ...done: readonly string[]): void {
  if (!done.includes(errorCodeOf(error) ?? "")) throw error;
}

/** The fix for an error that stops the account. Undefined when another try may help. */
export function fixOf(error: unknown): string | undefined {
  const word = errorCodeOf(error);
  return word === undefined ? undefined : FATAL_ERRORS[word];
}

/** The outcome of a call that threw. */
export function outcomeOf(error: unknown): SendResult {
  const word = errorCodeOf(error);
  if (word !== undefined) return outcomeOfCode(error, word);
  if (error instanceof WebAPIRateLimitedError) {
    const afterMs = error.retryAfter * 1000;
    return { kind: "retry", reason: "Slack's rate limit is reached", afterMs, rateLimited: true };
  }
  if (error instanceof WebAPIHTTPError) {
    const retryAfter = error.headers["retry-after"];
    return answeredOutcome({ status: error.statusCode, reason: `Slack answers ${error.statusCode}`, retryAfter });
  }
  // Slack may have done the work.
  if (error instanceof WebAPIPlatformError) return { kind: "unknown", reason: "Slack's answer cannot be read" };
  if (error instanceof WebAPIRequestError) return thrownOutcome(error.original, "Slack");
  // The client throws a plain error for a 429 that names no time.
  if (error instanceof Error && error.message.startsWith("Retry header")) {
    return { kind: "retry", reason: "Slack's rate limit is reached", rateLimited: true };
  }
  return thrownOutcome(error, "Slack");
}

function outcomeOfCode(error: unknown, word: string): SendResult {
  const reason = `Slack refuses: ${word}`;
  if (RATE_LIMITED.has(word)) return { kind: "retry", reason, rateLimited: true };
  if (PARTLY_DONE.has(word)) return { kind: "unknown", reason };
  // Slack will accept the message with another token.
  if (TRANSIENT.has(word)) return { kind: "retry", reason };
  const fix = fixOf(error);
  if (fix !== undefined && word !== "missing_scope") return { kind: "retry", reason, fix };
  return { kind: "refused", reason, ...(UNFIT.has(word) && { isUnfit: true }) };
}

/** docs.slack.dev/reference/methods/chat.postMessage: errors of the message itself */
const UNFIT = new Set([
  "attachment_payload_limit_exceeded",
  "blocks_mismatch",
  "cannot_reply_to_message",
  "invalid_arg_name",
  "invalid_arguments",
  "invalid_attachments",
  "invalid_blocks",
  "invalid_blocks_format",
  "markdown_text_conflict",
  "msg_blocks_too_long",
  "msg_too_long",
  "no_text",
  "too_many_attachments",
]);

/** A sentence for the log and for reports; it never holds a token. */
export function reasonOf(error: unknown): string {
  const outcome = outcomeOf(error);
  return outcome.kind === "sent" ? "" : outcome.reason;
}

/** `OpenClawError` for settings that Slack refuses. Undefined when another try may help. */
export function authError(error: unknown): OpenClawError | undefined {
  const fix = fixOf(error);
  if (fix === undefined) return undefined;
  return new OpenClawError("CHANNEL_AUTH", { message: `Slack refuses the token (${errorCodeOf(error)}).`, fix });
}
