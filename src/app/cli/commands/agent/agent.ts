import { text as readAll } from "node:stream/consumers";
import { answersTo } from "../../../../types/chat/question-end.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { THINK_LEVELS, type ThinkLevel } from "../../../../types/run/model.ts";
import { canAsk } from "../../ask.ts";
import { writeJson, type Io } from "../../io.ts";
import { cleanText } from "../../terminal-text.ts";
import { askGateway } from "./agent-gateway.ts";
import type { AgentAnswer, AgentFlags } from "./agent-flags.ts";
import { askAtTerminal, type AskedCommand } from "../permission.ts";
import { Printer } from "../printer.ts";

/** Sends one message and prints the answer, on a terminal while it is written. Returns 1 when the run failed. */
export async function agent(io: Io, flags: AgentFlags): Promise<number> {
  const message = flags.message === "-" ? await readAll(process.stdin) : flags.message;
  if (message.trim() === "") {
    throw new OpenClawError("USAGE", { message: "The message is empty.", fix: "Say something: -m <text>" });
  }
  const printer = new Printer(io, flags.json !== true && io.isTerminal);
  try {
    const ask =
      flags.local === true ? askHere(io, message, { flags, printer }) : askGateway(io, message, flags, printer);
    return printAnswer(io, await ask, flags, printer);
  } finally {
    printer.stop();
  }
}

function printAnswer(io: Io, answer: AgentAnswer, flags: AgentFlags, printer: Printer): number {
  printer.stop();
  if (flags.json === true) writeJson(io, jsonOf(answer));
  else printer.finish(answer.text);
  if (answer.error === undefined) return 0;
  if (flags.json !== true) io.err(`error: ${cleanText(answer.error)}\n`);
  return 1;
}

/** OpenClaw's JSON form, with the text in addition. */
function jsonOf({ runId, text, error, sessionKey, usage, model }: AgentAnswer): object {
  return {
    runId,
    status: error === undefined ? "ok" : "error",
    ...(sessionKey !== undefined && { sessionKey }),
    text,
    ...(error !== undefined && { error }),
    ...(usage !== undefined && { usage }),
    ...(model !== undefined && { model }),
    result: { payloads: text === "" ? [] : [{ text }] },
  };
}

async function askHere(
  io: Io,
  message: string,
  { flags, printer }: { flags: AgentFlags; printer: Printer },
): Promise<AgentAnswer> {
  for (const name of ["to", "channel", "agent", "sessionId", "deliver", "url"] as const) {
    if (flags[name] !== undefined) throw notLocal(name);
  }
  const { runLocal } = await import("../../local.ts");
  const thinking = thinkLevel(flags.thinking);
  const { sessionKey, model, timeout } = flags;
  return runLocal({
    message,
    onText: (delta) => printer.add(delta),
    onApproval: ({ command, files = [], variables = [], ...question }, signal) => {
      const paths = files.map(({ path }) => cleanText(path));
      const about = { paths, variables: variables.map(cleanText) };
      const asked = { command: cleanText(command), ...about, answers: answersTo(question) };
      return decideHere(io, asked, { printer, signal });
    },
    ...(sessionKey !== undefined && { sessionKey }),
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking }),
    ...(timeout !== undefined && timeout > 0 && { timeoutMs: timeout * 1000 }),
  });
}

/** Without a person at the terminal the answer is no, because nobody else can give one. */
async function decideHere(io: Io, asked: AskedCommand, { printer, signal }: { printer: Printer; signal: AbortSignal }) {
  if (canAsk(io)) {
    printer.stop();
    return askAtTerminal(asked, signal);
  }
  printer.note(`Refused, since nobody is here to allow it: ${asked.command}`);
  return "deny" as const;
}

const thinkLevel = (text: string | undefined): ThinkLevel | undefined => THINK_LEVELS.find((level) => level === text);

function notLocal(name: string): OpenClawError {
  const flag = name === "sessionId" ? "session-id" : name;
  return new OpenClawError("USAGE", {
    message: `--${flag} needs the gateway, and --local goes without.`,
    fix: "Leave one of them out; --session-key names the conversation in both cases.",
  });
}
