import { stripHeartbeatToken } from "../../reply/heartbeat-token.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { Principal } from "../../types/run/principal.ts";
import type { AnswerFilter, EndedTurnRef, TurnEndPorts, TurnKind, TurnRef } from "../../types/run/turn-kind.ts";
import type { Session } from "../../types/session.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";
import { commandCall, withoutBlock } from "./command/command-call.ts";

/** Name of the turn kind in messages. */
export const CRON_KIND = "cron";

/** First line of an answer that reports the task as failed. */
const FAILED = /^\s*AUTOMATION_FAILED[ \t]*(?:\r?\n|$)/;

const CONTRACT =
  "This is a scheduled task: nobody is at the keyboard, and nobody can answer a question. Your answer as plain text is the result; where the " +
  "task is to be reported, it is sent to the chat by itself, so do not send it with a tool as well. If there is nothing to report, answer " +
  "NO_REPLY. If the task could not be done, write AUTOMATION_FAILED alone in the first line, and what went wrong below it.";

/** The turn of a scheduled job. It has the rights of the person, agent or plugin that set the job up. */
export const CRON_TURN: TurnKind = {
  name: CRON_KIND,
  trigger: "cron",
  actsFor,
  provenance: { kind: "internal_system", sourceTool: "cron" },
  // The mark of untrusted content: see `UntrustedContent`.
  source: ({ options }) => (options?.cron?.isFromOutside === true ? { sourceTool: "webhook" } : {}),
  takesCommands: false,
  queue: "alone",
  slots: "automation",
  overCap: "by_config",
  transcript: "always",
  isUse: false,
  // Nobody waits for the turn, and a question would hold up the job's next slot.
  asks: "nobody",
  refusals: "logged",
  // Only the whole answer shows whether there is anything to report.
  answer: "whole",
  maintenance: "full",
  news: ({ options }) => options?.cron?.event,
  call: ({ options }) => options?.cron?.command && commandCall(options.cron.command),
  promptFiles: ({ options }) => (options?.cron?.isLight === true ? [] : undefined),
  systemPrompt: ({ options }) => (options?.cron?.event === undefined ? CONTRACT : undefined),
  begin,
  filter: ({ options }) => filterOf(options?.cron?.name ?? "task"),
  end,
};

function actsFor({ options }: Pick<InboundMessage, "options">): Principal {
  const { jobId = "unknown", setUpBy = "guest", name } = options?.cron ?? {};
  return { kind: "automation", id: `cron:${jobId}`, setUpBy, ...(name !== undefined && { name }) };
}

/** Whether a key is that of an isolated run of a job, whose conversation is removed after a while. */
export const isCronKey = (key: string): boolean => /(?:^|:)cron:[^:]+:run:/.test(key);

/** Gives the conversation of an isolated run the name that its job has now, so that people know it also without the job. */
async function begin({ message }: TurnRef, session: Session): Promise<void> {
  const name = message.options?.cron?.name;
  if (name !== undefined && isCronKey(session.key)) await session.update({ displayName: name });
}

/** Filter of an answer: a text that only acknowledges is not sent, and a failure is sent as one. */
function filterOf(name: string): AnswerFilter {
  return (text) => {
    const { text: rest, silent } = stripHeartbeatToken(text, 0);
    if (silent) return "";
    return saysFailed(rest)
      ? `⚠️ ${name}: the scheduled task failed.\n\n${rest.replace(FAILED, "").trim()}`.trim()
      : rest;
  };
}

/** Whether an answer reports its task as failed. */
export const saysFailed = (text: string): boolean => FAILED.test(text);

/** Adds a sent answer as a note to the conversation of the chat that got it, so that people can refer to the answer. */
async function end({ message, outcome, text }: EndedTurnRef, session: Session, ports: TurnEndPorts): Promise<void> {
  const cron = message.options?.cron;
  if (outcome.kind !== "replied" || cron?.tell === undefined || cron.tell === session.key) return;
  const content = filterOf(cron.name)(text);
  if (content !== "")
    ports.note(cron.tell, {
      customType: "openclaw.cron",
      content: `[Scheduled task "${cron.name}"] ${cron.command ? written(cron.name, content) : said(content)}`,
    });
}

const said = (content: string): string => `Unasked, you have said in this chat:\n\n${content}`;

/** The output of a command as untrusted content, because it may come from anywhere. */
const written = (name: string, content: string): string =>
  `Its command, and not you, has written to this chat:\n\n${wrapUntrusted(withoutBlock(content), { label: "Command", from: name })}`;
