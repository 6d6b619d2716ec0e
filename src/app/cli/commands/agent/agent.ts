import { randomUUID } from "node:crypto";
import { text as readAll } from "node:stream/consumers";
import { z } from "zod";
import { agentAnswers } from "../../../../types/answers/chat.ts";
import { answersTo } from "../../../../types/chat/question-end.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { THINK_LEVELS, type ThinkLevel } from "../../../../types/run/model.ts";
import { canAsk } from "../../ask.ts";
import { writeJson, type Io } from "../../io.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import type { AgentAnswer, AgentFlags } from "./agent-flags.ts";
import { withGateway } from "../../call-gateway.ts";
import type { ClientEvent, GatewayClient } from "../../client.ts";
import { readState, type State } from "../../state.ts";
import { background } from "../../../../utils/background.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { createInterface } from "node:readline/promises";
import { approvalAnswers, shownApproval, type PersonsAnswer } from "../../../../types/answers/approvals.ts";
import { startProgress } from "../../progress.ts";

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
  if (flags.json !== true) io.err(`error: ${withoutTerminalControls(answer.error)}\n`);
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
      const paths = files.map(({ path }) => withoutTerminalControls(path));
      const about = { paths, variables: variables.map(withoutTerminalControls) };
      const asked = { command: withoutTerminalControls(command), ...about, answers: answersTo(question) };
      return decideHere(io, asked, { printer, signal });
    },
    ...(sessionKey !== undefined && { sessionKey }),
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking }),
    ...(timeout !== undefined && timeout > 0 && { timeoutMs: timeout * 1000 }),
  });
}

/** Without a person at the terminal the answer is no, because nobody else can give one. */
async function decideHere(io: Io, asked: ShownCommand, { printer, signal }: { printer: Printer; signal: AbortSignal }) {
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

/** Milliseconds that a command may wait for approval, in addition to the run's own time. */
const APPROVAL_MS = 300_000;
const GRACE_MS = 30_000;
/** Milliseconds to wait for events of a run after the answer to its request. */
const AFTER_MS = 2000;
const INTERRUPTED = 130;

/** Sends the message through the running gateway. Throws GATEWAY_UNREACHABLE and the operator's errors for the gateway's errors. */
async function askGateway(io: Io, message: string, flags: AgentFlags, printer: Printer): Promise<AgentAnswer> {
  const state = await readState(io);
  const target = {
    ...(flags.url !== undefined && { url: flags.url }),
    ...(flags.token !== undefined && { token: flags.token }),
  };
  return withGateway(io, state, (client) => ask(io, client, { message, flags, printer, state }), {
    flags: target,
    isQuiet: true,
  });
}

interface Question {
  readonly message: string;
  readonly flags: AgentFlags;
  readonly printer: Printer;
  readonly state: State;
}

async function ask(io: Io, client: GatewayClient, question: Question): Promise<AgentAnswer> {
  const { flags, printer, state } = question;
  const runId = randomUUID();
  const permissions = new Permissions(io, client, printer);
  const watch = watchRun(client.events(), new RunView(runId, { printer, permissions, showsTools: wantsTools(flags) }));
  const sent = await client.call("agent", paramsOf(question, runId), agentAnswers.start);
  const forget = stopOnInterrupt(io, client, sent);
  const timeoutMs = runTime(flags, state) + APPROVAL_MS + GRACE_MS;
  const ended = await client
    .call("agent.wait", { runId: sent.runId, timeoutMs }, agentAnswers.wait, timeoutMs + GRACE_MS)
    .finally(forget);
  const seen = await Promise.race([watch, after(AFTER_MS)]);
  const error =
    ended.status === "ok" ? undefined : (ended.error ?? `no outcome after ${Math.round(timeoutMs / 1000)} s`);
  return {
    runId: sent.runId,
    text: ended.text ?? "",
    ...(sent.sessionKey !== undefined && { sessionKey: sent.sessionKey }),
    ...(error !== undefined && { error }),
    ...(seen?.usage !== undefined && { usage: seen.usage }),
    ...(seen?.model && { model: seen.model }),
  };
}

function paramsOf({ message, flags }: Question, idempotencyKey: string): object {
  const { sessionKey, sessionId, to, channel, agent: agentId, model, thinking, timeout, deliver } = flags;
  return { message, idempotencyKey, sessionKey, sessionId, to, channel, agentId, model, thinking, timeout, deliver };
}

const wantsTools = ({ verbose }: AgentFlags): boolean =>
  verbose !== undefined && verbose !== false && verbose !== "off";

/** Milliseconds that the run may take. */
function runTime({ timeout }: AgentFlags, { config }: State): number {
  return (timeout || config.agents.defaults.timeoutSeconds) * 1000;
}

const after = (ms: number): Promise<undefined> =>
  new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref();
  });

/** Ctrl-C ends the run too, not only the command. The returned function removes the signal handler. */
function stopOnInterrupt(
  io: Io,
  client: GatewayClient,
  { runId, sessionKey }: z.infer<typeof agentAnswers.start>,
): () => void {
  const stop = () => {
    // Waits a limited time: a gateway that does not answer must not block the terminal.
    const stopped = client
      .call("chat.abort", { sessionKey, runId }, z.unknown(), AFTER_MS)
      .catch((error: unknown) =>
        io.err(`The gateway did not confirm that the run ended, so it may continue: ${errorText(error)}\n`),
      )
      .then(() => process.exit(INTERRUPTED));
    background("stop of the run", stopped);
  };
  if (sessionKey !== undefined) process.once("SIGINT", stop);
  return () => void process.off("SIGINT", stop);
}

async function watchRun(events: AsyncIterable<ClientEvent>, view: RunView): Promise<RunView> {
  for await (const event of events) {
    view.see(event);
    if (view.isOver) break;
  }
  return view;
}

const ASKED: ReadonlySet<string> = new Set(["exec.approval.requested", "plugin.approval.requested"]);
const ANSWERED: ReadonlySet<string> = new Set(["exec.approval.resolved", "plugin.approval.resolved"]);

const chatShape = z.looseObject({
  runId: z.string(),
  state: z.string(),
  deltaText: z.string().optional(),
  replace: z.boolean().optional(),
  usage: z.unknown().optional(),
});
const agentShape = z.looseObject({
  runId: z.string(),
  stream: z.string(),
  data: z.looseObject({
    phase: z.string().optional(),
    name: z.string().optional(),
    provider: z.string().optional(),
    model: z.string().optional(),
    because: z.string().optional(),
    text: z.string().optional(),
  }),
});
/** The state of one run according to its events. */
class RunView {
  readonly #runId: string;
  readonly #printer: Printer;
  readonly #permissions: Permissions;
  readonly #showsTools: boolean;
  isOver = false;
  usage: unknown;
  model: { provider: string; id: string } | undefined;

  constructor(runId: string, parts: { printer: Printer; permissions: Permissions; showsTools: boolean }) {
    this.#runId = runId;
    this.#printer = parts.printer;
    this.#permissions = parts.permissions;
    this.#showsTools = parts.showsTools;
  }

  see({ event, payload }: ClientEvent): void {
    if (event === "chat") this.#chat(chatShape.safeParse(payload).data);
    if (event === "agent") this.#agent(agentShape.safeParse(payload).data);
    if (ASKED.has(event)) this.#permissions.asked(payload, this.#runId);
    if (ANSWERED.has(event)) this.#permissions.answered(payload);
  }

  #chat(payload: z.infer<typeof chatShape> | undefined): void {
    if (payload?.runId !== this.#runId) return;
    if (payload.state === "delta") {
      if (payload.replace === true) this.#printer.part();
      this.#printer.add(payload.deltaText ?? "");
      return;
    }
    this.isOver = payload.state === "final" || payload.state === "error" || payload.state === "aborted";
    this.usage = payload.usage;
  }

  #agent(payload: z.infer<typeof agentShape> | undefined): void {
    if (payload?.runId !== this.#runId) return;
    const { provider, model } = payload.data;
    if (payload.stream === "usage" && provider !== undefined && model !== undefined)
      this.model = { provider, id: model };
    const note = noteOf(payload, this.#showsTools);
    if (note !== undefined) this.#printer.note(note);
  }
}

/** A line that is printed in addition to the answer. */
function noteOf({ stream, data }: z.infer<typeof agentShape>, showsTools: boolean): string | undefined {
  if (stream === "notice") return data.because === "fallback" || data.because === "image" ? data.text : undefined;
  return stream === "tool" && data.phase === "start" && showsTools ? `[${data.name ?? "tool"}]` : undefined;
}

const endShape = z.looseObject({ id: z.string() });

/** Asks the person at the terminal the approvals of one run. */
class Permissions {
  readonly #io: Io;
  readonly #client: GatewayClient;
  readonly #printer: Printer;
  readonly #asking = new Map<string, AbortController>();

  constructor(io: Io, client: GatewayClient, printer: Printer) {
    this.#io = io;
    this.#client = client;
    this.#printer = printer;
  }

  /** `payload` of the event of a question; those of other runs are ignored. */
  asked(payload: unknown, runId: string): void {
    const approval = shownApproval.safeParse(payload).data;
    if (approval?.request.runId !== runId) return;
    const { id, request } = approval;
    const command = withoutTerminalControls(request.command);
    if (canAsk(this.#io)) {
      const paths = request.files.map(({ path }) => withoutTerminalControls(path));
      const variables = request.variables.map(withoutTerminalControls);
      this.#prompt(id, {
        command,
        paths,
        variables,
        answers: request.allowedDecisions,
      }).catch((error: unknown) => this.#tell(error));
      return;
    }
    this.#printer.note(`Waits for permission to run: ${command}`);
    this.#printer.note(`Answer: openclaw agent -m "/approve ${id} once" (or always, or deny)`);
  }

  /** `payload` of the event that ends one: somebody answered, here or elsewhere. */
  answered(payload: unknown): void {
    const id = endShape.safeParse(payload).data?.id;
    if (id !== undefined) this.#asking.get(id)?.abort();
  }

  async #prompt(id: string, asked: ShownCommand): Promise<void> {
    this.#printer.stop();
    const abort = new AbortController();
    this.#asking.set(id, abort);
    try {
      const decision = await askAtTerminal(asked, abort.signal);
      await this.#client.call("exec.approval.resolve", { id, decision }, approvalAnswers.resolve);
    } finally {
      this.#asking.delete(id);
    }
  }

  #tell(error: unknown): void {
    const isElsewhere = error instanceof Error && error.name === "AbortError";
    const reason = errorText(error);
    this.#printer.note(isElsewhere ? "\nAnswered elsewhere." : `Not answered: ${reason}`);
  }
}

/** A command in the form in which the terminal shows it; all texts are cleaned. */
interface ShownCommand {
  readonly command: string;
  /** Files; the approval is valid only while their content is unchanged. */
  readonly paths: readonly string[];
  /** Names of variables that plugins set for the command. */
  readonly variables: readonly string[];
  /** The answers that the question offers. */
  readonly answers: readonly string[];
}

/** Whether the answer is a clear yes; anything else is a no. Rejects when `signal` aborts. */
async function askAtTerminal(
  { command, paths, variables, answers }: ShownCommand,
  signal: AbortSignal,
): Promise<PersonsAnswer> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  prompt.on("SIGINT", () => process.emit("SIGINT"));
  try {
    const files = paths.length === 0 ? "" : `Only with these files as they are now: ${paths.join(", ")}\n`;
    const set = variables.length === 0 ? "" : `Plugins set these variables for it: ${variables.join(", ")}\n`;
    const words = [
      ...(answers.includes("allow-once") ? ["[o]nce"] : []),
      ...(answers.includes("allow-always") ? ["[a]lways"] : []),
      "[N]o",
    ].join(", ");
    return decisionOf(await prompt.question(`May it run this?\n  ${command}\n${files}${set}${words}: `, { signal }));
  } finally {
    prompt.close();
  }
}

function decisionOf(text: string): PersonsAnswer {
  const word = text.trim().toLowerCase();
  if (word === "o" || word === "once" || word === "y" || word === "yes") return "allow-once";
  return word === "a" || word === "always" ? "allow-always" : "deny";
}

/** Prints an answer: on a terminal while it is written, else when it is complete. Shows a progress line before. */
class Printer {
  readonly #io: Io;
  readonly #isLive: boolean;
  readonly #progress: { stop(): void };
  #printed = "";

  constructor(io: Io, isLive: boolean) {
    this.#io = io;
    this.#isLive = isLive;
    this.#progress = startProgress(io, "Waiting for the answer");
  }

  /** Text that follows what was printed. */
  add(delta: string): void {
    if (!this.#isLive) return;
    this.#progress.stop();
    this.#printed += delta;
    this.#io.out(withoutTerminalControls(delta));
  }

  /** Another message of the same run begins. */
  part(): void {
    if (this.#printed !== "") this.add("\n\n");
  }

  /** A line in addition to the answer. */
  note(line: string): void {
    this.#progress.stop();
    this.#io.err(`${withoutTerminalControls(line)}\n`);
  }

  /** Removes the progress line; may be called several times. */
  stop(): void {
    this.#progress.stop();
  }

  /** Prints the part of the text that was not printed yet. */
  finish(whole: string): void {
    this.stop();
    const rest = whole.startsWith(this.#printed) ? whole.slice(this.#printed.length) : `\n\n${whole}`;
    if (whole !== "" || this.#printed !== "")
      this.#io.out(`${this.#isLive ? withoutTerminalControls(rest) : rest}\n`, "data");
  }
}
