import type { CommandForm } from "../../types/chat/channel.ts";
import { inCommandForm } from "../chats.ts";
import type { Gap, GapCause } from "../../outbox/gaps.ts";
import { parseImageSize } from "../../providers/failure.ts";
import { sizeText } from "../../utils/text/size-text.ts";
import type { Failure, FailureKind, RunResult } from "../../types/run/run.ts";

/** Notices to users when no model could answer. The operator's log has the provider's own text. */
const FAILURE_TEXT: Readonly<Record<FailureKind, string>> = {
  auth: "The model's key was not accepted. The operator can see why with `openclaw models status --probe`.",
  billing: "The model's account is out of credit.",
  budget: "The budget does not allow another model call right now. The operator can see why with `openclaw runs show`.",
  rate_limit: "The model is receiving too many requests right now. Please try again in a minute.",
  overloaded: "The model is overloaded right now. Please try again in a minute.",
  loading: "The model's server is still loading it. Please try again in a few minutes.",
  timeout: "The model took too long. Please try again.",
  context_overflow: "This conversation no longer fits the model. Start a fresh one with /new.",
  request_size:
    "The request is too large: the model's provider, or a proxy before it, refuses so many bytes. Please send less at once.",
  output_limit: "The model cannot write answers as long as requested.",
  thinking_unsupported: "The model refuses this thinking level. Choose another with /think.",
  thinking_refused: "The model could not read this conversation. Start a fresh one with /new.",
  image_size: "The image is too large for the model. Please send a smaller one.",
  image_broken: "The model cannot read the image. Please send it as another file, such as a new PNG or JPEG.",
  role_ordering: "The model could not read this conversation. Start a fresh one with /new.",
  call_ordering: "The model could not read this conversation. Start a fresh one with /new.",
  format: "The model's provider did not accept the request.",
  refusal: "The model declined to answer.",
  cut_off: "The model stopped in the middle of its answer. Please try again.",
  network: "The model cannot be reached right now. Please try again.",
  compaction_failure: "This conversation is too long and could not be shortened. Start a fresh one with /new.",
  tool_loop: "The agent repeated the same step without getting any further, so it was stopped.",
  engine: "The context engine could not be loaded. The operator can see why with `openclaw doctor`.",
  blocked: "A plugin of this gateway does not allow this. The operator can see why with `openclaw runs show`.",
  model_missing:
    "The configured model does not exist. The operator can see which with `openclaw models status --probe`.",
  unknown: "Something went wrong while answering. Please try again.",
};

/** The same for an operator who reads the conversation in a client of the gateway, and can change key and model. */
const OPERATOR_TEXT: Readonly<Partial<Record<FailureKind, string>>> = {
  auth: "The model's provider refuses the key of this gateway. It needs another one.",
  billing: "The account of the model's key is out of credit. Add credit at the provider, or use another key.",
  rate_limit:
    "The model's provider takes no more requests with this key right now. Please try again in a minute, or use another key.",
  model_missing: "The model's provider has no model of this name. Please choose another one.",
};

/** The reader of a notice. */
export interface NoticeReader {
  /** The form in which people write commands in the reader's chat. */
  readonly form?: CommandForm | undefined;
  /** Whether the reader is a guest, who does not see the provider's own words. */
  readonly isGuest?: boolean;
  /** Whether the reader is the operator in a client of the gateway. */
  readonly isOperator?: boolean;
}

/** The notice for a run without an answer. Undefined when none is due. `joined`: how many messages joined the run. */
export function noticeFor(result: RunResult, reader: NoticeReader = {}, joined = 0): string | undefined {
  const notice = ownNotice(result, reader);
  if (notice === undefined || joined === 0) return notice;
  const which = joined === 1 ? "message" : `${joined} messages`;
  return `${notice} This also goes for the ${which} that came meanwhile.`;
}

function ownNotice(result: RunResult, reader: NoticeReader): string | undefined {
  if (result.kind === "failed") return `⚠️ ${failureText(result.failure, reader)}`;
  if (result.kind === "aborted" && result.by === "timeout")
    return "⚠️ This took longer than a run may take, so I stopped it.";
  return undefined;
}

/** The text for a failure's kind, with the provider's text where that says more. */
function failureText(failure: Failure, { form, isGuest = false, isOperator = false }: NoticeReader): string {
  const { kind, message, notice } = failure;
  if (notice !== undefined) return kind === "blocked" ? notice : inCommandForm(notice, form);
  if (kind === "context_overflow") return inCommandForm(tooLong(failure), form);
  if (kind === "request_size") return inCommandForm(tooManyBytes(failure), form);
  if (kind === "image_size") return imageText(message);
  const said = SAYS_LITTLE.has(kind) ? providerText(message) : undefined;
  const text = inCommandForm((isOperator ? OPERATOR_TEXT[kind] : undefined) ?? FAILURE_TEXT[kind], form);
  if (said === undefined) return text;
  return isGuest ? `${text} The operator can see why with \`openclaw runs show\`.` : `${text} It said: ${said}`;
}

/** Recommends a fresh conversation only when that would help. */
function tooLong({ limitTokens, requestedTokens, isAlone = false }: Failure): string {
  const figures = [
    ...(limitTokens === undefined ? [] : [`it takes ${tokens(limitTokens)}`]),
    ...(requestedTokens === undefined ? [] : [`this needed ${tokens(requestedTokens)}`]),
  ].join(", ");
  const because = figures === "" ? "" : ` (${figures})`;
  if (!isAlone) return `This conversation no longer fits the model${because}. Start a fresh one with /new.`;
  return `This message is too long for the model${because}. Please send a shorter one, or ask the operator for a model with a larger window.`;
}

/**
 * The notice for a request of too many bytes, with the size of the request: neither a person nor the operator can see
 * it elsewhere.
 */
function tooManyBytes({ requestBytes, isAlone = false }: Failure): string {
  if (requestBytes === undefined) return FAILURE_TEXT.request_size;
  const text = `The request of ${sizeText(requestBytes)} is too large: the model's provider, or a proxy before it, refuses so many bytes.`;
  return isAlone
    ? `${text} Please send less at once.`
    : `${text} Please send less at once, or start a fresh conversation with /new.`;
}

const tokens = (count: number): string => `${count.toLocaleString("en-US")} tokens`;

/** Names the largest image that the provider takes, if it said so. */
function imageText(message: string): string {
  const { maxBytes, maxDimensionPx } = parseImageSize(message) ?? {};
  const most = [
    ...(maxBytes === undefined ? [] : [`${Math.floor(maxBytes / 1_048_576)} MB`]),
    ...(maxDimensionPx === undefined ? [] : [`${maxDimensionPx} pixels a side`]),
  ];
  const text = FAILURE_TEXT.image_size;
  return most.length === 0 ? text : `${text} It takes at most ${most.join(" and ")}.`;
}

/** Kinds that only say that something was wrong with the request, so that the provider's text helps. */
const SAYS_LITTLE: ReadonlySet<FailureKind> = new Set(["format", "output_limit", "unknown"]);
const MOST_CHARS = 200;

/** The provider's text without the status before it. Undefined for a message that is not a provider's. */
function providerText(message: string): string | undefined {
  const said = /^[45]\d\d (?!without a reason)(.+)$/s.exec(message)?.[1]?.trim();
  if (said === undefined) return undefined;
  return said.length > MOST_CHARS ? `${said.slice(0, MOST_CHARS)}…` : said;
}

export const TOO_MANY_STARTS =
  "⚠️ I was interrupted several times while answering this message and gave up. Please send it again.";
/** The notice for a turn of this many messages: each of them is to be sent again, not the last one alone. */
export const tooManyStarts = (messages: number): string =>
  messages === 1
    ? TOO_MANY_STARTS
    : `⚠️ I was interrupted several times while answering ${messages} messages together and gave up. Please send all ${messages} again.`;
export const commandEndedGateway = (name: string): string =>
  `⚠️ The gateway ended twice while it ran this command (${name}), so it is not run again. Please ask the operator.`;
export const QUEUE_FULL = "⚠️ Too many messages are waiting in this chat, so I skipped this one.";
export const BROKEN = `⚠️ ${FAILURE_TEXT.unknown}`;
export const agentGone = (agent: string): string =>
  `⚠️ The agent "${agent}" for this message no longer exists. Please send it again, or ask the operator.`;
/** The notice for messages of an agent that is stopped. `why` is set when an owner reads the notice. */
export const agentStopped = (agent: string, why: string | undefined): string =>
  why === undefined
    ? "⚠️ I am switched off by a setting. Please tell the operator."
    : `⚠️ The agent "${agent}" is ${why} Take the key out of the config, or wait for a version that obeys it.`;
export const NOT_ANSWERED = "⚠️ The send policy of this conversation is deny, so it gets no answers.";
export const FOREIGN_PRESS =
  "That button was shown in another chat, so I did nothing. Please press it there, or write here what you would like.";
/** The notice for a command in an edit, which may come at any time, and also for a message whose command has run. */
export const COMMAND_IN_EDIT = "I run no command from an edited message. Please send it as a new one.";
/** The notice for the sender of a command of a platform's menu, where nobody else sees it. */
export const NOT_LET_IN = "I take no commands from you here.";
export const PAIRING_WAITS = "The operator has to let you in first. Your request is waiting.";
export const NOT_OWNER = "Only an owner may do that.";

export function pairingText(code: string, channel: string): string {
  return [
    "Hello! I do not know you yet.",
    `Your pairing code is ${code}. It is good for one hour.`,
    `The operator lets you in with: openclaw pairing approve ${channel} ${code}`,
  ].join("\n");
}

const GAP_TEXT: Readonly<Record<GapCause, string>> = {
  late: "could not be sent in time and were skipped",
  refused: "were refused by the platform",
  unfit: "were refused by the platform, also as plain text",
  unknown: "may or may not have arrived",
};

/** Informs a chat about answers that it may have missed. `show` formats a time for the people of the chat. */
export function gapText(gaps: readonly Gap[], show: (at: number) => string): string {
  const parts = gaps.map(({ cause, count, from, to }) => {
    const when = show(from) === show(to) ? show(from) : `${show(from)} to ${show(to)}`;
    return `${count} from ${when} ${GAP_TEXT[cause]}`;
  });
  return `⚠️ Of my messages, ${parts.join("; ")}. Ask again if something is missing.`;
}

/**
 * Informs a chat after an outage about its messages that are too old to be answered. `from` and `to` are times as the
 * people of the chat read them.
 */
export function staleText(count: number, from: string, to: string): string {
  const when = from === to ? `of ${from}` : `from ${from} to ${to}`;
  const what = count === 1 ? `One message ${when} was not answered.` : `${count} messages ${when} were not answered.`;
  return `⚠️ I was away for a while. ${what} Please send again what still matters.`;
}
