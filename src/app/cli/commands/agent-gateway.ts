import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { z } from "zod";
import { withGateway } from "../call-gateway.ts";
import type { ClientEvent, GatewayClient } from "../client.ts";
import { cleanText, type Io } from "../io.ts";
import { readState, type State } from "../state.ts";
import type { AgentAnswer, AgentFlags } from "./agent-flags.ts";
import type { Printer } from "./printer.ts";

/** A command may wait so long for a person's permission, outside the run's own time. */
const APPROVAL_MS = 300_000;
const GRACE_MS = 30_000;
/** Events of a run may come a little after the answer about it. */
const AFTER_MS = 2000;
const INTERRUPTED = 130;

const started = z.looseObject({ runId: z.string(), sessionKey: z.string().optional() });
const outcome = z.looseObject({
  status: z.string(),
  text: z.string().optional(),
  error: z.string().optional(),
});

/** Sends the message through the running gateway. Throws GATEWAY_UNREACHABLE and what the gateway's errors stand for. */
export async function askGateway(io: Io, message: string, flags: AgentFlags, printer: Printer): Promise<AgentAnswer> {
  const state = await readState(io);
  const target = {
    ...(flags.url !== undefined && { url: flags.url }),
    ...(flags.token !== undefined && { token: flags.token }),
  };
  return withGateway(io, state, (client) => ask(io, client, { message, flags, printer, state }), { flags: target });
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
  const watch = watchRun(client.events(), new RunView(io, runId, printer, wantsTools(flags)));
  const sent = await client.call("agent", paramsOf(question, runId), started);
  stopOnInterrupt(client, sent);
  const timeoutMs = runTime(flags, state) + APPROVAL_MS + GRACE_MS;
  const told = await client.call("agent.wait", { runId: sent.runId, timeoutMs }, outcome, timeoutMs + GRACE_MS);
  const seen = await Promise.race([watch, after(AFTER_MS)]);
  const error = told.status === "ok" ? undefined : (told.error ?? `no outcome after ${Math.round(timeoutMs / 1000)} s`);
  return {
    runId: sent.runId,
    text: told.text ?? "",
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

/** Ctrl-C ends the run too, not only the command that waits for it. */
function stopOnInterrupt(client: GatewayClient, { runId, sessionKey }: z.infer<typeof started>): void {
  if (sessionKey === undefined) return;
  void once(process, "SIGINT").then(async () => {
    await client.call("chat.abort", { sessionKey, runId }, z.unknown(), AFTER_MS).catch(() => undefined);
    process.exit(INTERRUPTED);
  });
}

async function watchRun(events: AsyncIterable<ClientEvent>, view: RunView): Promise<RunView> {
  for await (const event of events) {
    view.see(event);
    if (view.isOver) break;
  }
  return view;
}

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
  }),
});
const approvalShape = z.looseObject({
  id: z.string(),
  request: z.looseObject({ command: z.string().optional(), sessionKey: z.string().nullish() }).optional(),
});

/** What the events tell of one run. */
class RunView {
  readonly #io: Io;
  readonly #runId: string;
  readonly #printer: Printer;
  readonly #showsTools: boolean;
  isOver = false;
  usage: unknown;
  model: { provider: string; id: string } | undefined;

  constructor(io: Io, runId: string, printer: Printer, showsTools: boolean) {
    this.#io = io;
    this.#runId = runId;
    this.#printer = printer;
    this.#showsTools = showsTools;
  }

  see({ event, payload }: ClientEvent): void {
    if (event === "chat") this.#chat(chatShape.safeParse(payload).data);
    if (event === "agent") this.#agent(agentShape.safeParse(payload).data);
    if (event === "exec.approval.requested") this.#approval(approvalShape.safeParse(payload).data);
  }

  #chat(told: z.infer<typeof chatShape> | undefined): void {
    if (told?.runId !== this.#runId) return;
    if (told.state === "delta") {
      if (told.replace === true) this.#printer.part();
      this.#printer.add(told.deltaText ?? "");
      return;
    }
    this.isOver = told.state === "final" || told.state === "error" || told.state === "aborted";
    this.usage = told.usage;
  }

  #agent(told: z.infer<typeof agentShape> | undefined): void {
    if (told?.runId !== this.#runId) return;
    const { phase, name, provider, model } = told.data;
    if (told.stream === "usage" && provider !== undefined && model !== undefined) this.model = { provider, id: model };
    if (told.stream === "tool" && phase === "start" && this.#showsTools)
      this.#io.err(`[${cleanText(name ?? "tool")}]\n`);
  }

  #approval(told: z.infer<typeof approvalShape> | undefined): void {
    const command = told?.request?.command;
    if (told === undefined || command === undefined) return;
    this.#io.err(`Waits for permission: ${cleanText(command)}\n`);
    this.#io.err(`Answer from another terminal: openclaw agent -m "/approve ${told.id} once" (or always, deny)\n`);
  }
}
