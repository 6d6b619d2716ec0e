import type { CommandTurn } from "../../../types/chat/message.ts";
import type { CronCommand } from "../../../types/cron/job.ts";
import type { ToolResultMessage } from "../../../types/run/model.ts";
import type { FixedCall } from "../../../types/run/tool.ts";
import { defined } from "../../../utils/defined.ts";
import { isFields } from "../../../utils/fields.ts";

/** Time limit, in seconds, of a command that sets none. */
export const DEFAULT_COMMAND_SECONDS = 600;
const DEFAULT_OUTPUT_BYTES = 8 * 1024;
const SILENT = "NO_REPLY";
/** Programs that read their next argument as a text for the shell. */
const SHELLS = new Set(["sh", "/bin/sh"]);
const PLAIN_WORD = /^[A-Za-z0-9_./,:@%+=-]+$/;

/** A job's command in the form of its message. */
export function commandTurnOf({ argv, cwd, env, input, timeoutSeconds, outputMaxBytes }: CronCommand): CommandTurn {
  const command = shellText(argv);
  return {
    command: input === undefined ? command : `printf %s ${word(input)} | {\n${command}\n}`,
    timeoutSeconds: timeoutSeconds ?? DEFAULT_COMMAND_SECONDS,
    mostBytes: outputMaxBytes ?? DEFAULT_OUTPUT_BYTES,
    ...defined({ cwd, env }),
  };
}

/** The command as a person would type it. */
export function shellText(argv: readonly string[]): string {
  const [program = "", flag, text, ...rest] = argv;
  const isText = SHELLS.has(program) && (flag === "-c" || flag === "-lc") && text !== undefined && rest.length === 0;
  return isText ? text : argv.map(word).join(" ");
}

const word = (text: string): string => (PLAIN_WORD.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);

/** The call that runs a command of a job. */
export function commandCall({ command, cwd, env, timeoutSeconds, mostBytes }: CommandTurn): FixedCall {
  return {
    tool: "exec",
    args: { command, timeoutSeconds, ...defined({ cwd, env }) },
    answer: (result) => answerOf(result, mostBytes),
  };
}

/**
 * The answer of a command: its output as a code block, so that no part of the output is read as a directive. Of a
 * failed command it begins with the reason.
 */
function answerOf({ isError, details, content }: ToolResultMessage, mostBytes: number): string {
  const { exitCode, because, aggregated } = isFields(details) ? details : {};
  if (typeof aggregated !== "string") {
    const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    return `AUTOMATION_FAILED\n${forPeople(text)}`;
  }
  const output = cut(aggregated.trim(), mostBytes);
  const block = output === "" ? "" : inBlock(output);
  if (isError) return `AUTOMATION_FAILED\n${[endText(because, exitCode), block].filter(Boolean).join("\n\n")}`;
  return output === "" || output === SILENT ? SILENT : block;
}

/** A refusal without its request to the model. */
export const forPeople = (text: string): string => text.replace(/ Tell the user\.$/, "");

function endText(because: unknown, exitCode: unknown): string {
  if (because === "timeout") return "The command took too long and was ended.";
  if (because === "limit") return "The command was ended: it took more than its sandbox allows.";
  return typeof exitCode === "number" ? `The command ended with exit code ${exitCode}.` : "A signal ended the command.";
}

/** The last bytes of a text, cut between whole characters. */
function cut(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  let start = bytes.length - mostBytes;
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return `[…]\n${bytes.subarray(start).toString()}`;
}

function inBlock(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

/** The text of an answer that is one code block; any other answer unchanged. */
export function withoutBlock(answer: string): string {
  const [, , text] = /^(`{3,})\n([^]*)\n\1$/.exec(answer.trim()) ?? [];
  return text ?? answer;
}
