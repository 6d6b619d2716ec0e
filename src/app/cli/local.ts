import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { createChatPort } from "../../dispatch/clients/chat.ts";
import { noticeFor } from "../../dispatch/notices/chat-texts.ts";
import { resolveAlias } from "../../sessions/keys.ts";
import type { ChatPort } from "../../types/chat/chat.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { ModelRef, ThinkLevel, Usage } from "../../types/run/model.ts";
import type { Approval } from "../../types/run/tool.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import { type Core, openCore } from "../compose/core.ts";
import { webInbound, bundledContributions } from "../contributions/extensions.ts";
import { background } from "../../utils/background.ts";
import { acquireStateLock } from "../../store/lock/lock.ts";
import { applyEnv } from "../config/env-vars.ts";
import { loadConfig } from "../config/load.ts";
import { makeStateDirs, resolvePaths } from "../config/paths.ts";
import { keyNames } from "../../sessions/shown/wire-keys.ts";
import { Live } from "../live.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";
import { openPlugins } from "../plugins/open-plugins.ts";
import { openLog } from "../log/log.ts";

export interface LocalRequest {
  readonly message: string;
  readonly sessionKey?: string;
  readonly thinking?: ThinkLevel;
  readonly model?: string;
  readonly timeoutMs?: number;
  readonly onText?: (delta: string) => void;
  /** Asks whether a command may run. Every command is denied when unset. */
  readonly onApproval?: (approval: Approval, signal: AbortSignal) => Promise<Decision>;
}

type Decision = "allow-once" | "allow-always" | "deny";

export interface LocalAnswer {
  readonly runId: string;
  readonly text: string;
  readonly error?: string;
  readonly usage: Usage;
  readonly model: ModelRef;
}

/** One turn in this process, without a daemon. Throws `STATE_LOCKED` while one runs on the same state directory. */
export const runLocal = (request: LocalRequest): Promise<LocalAnswer> => withLocalCore((core) => ask(core, request));

async function ask(core: Core, request: LocalRequest): Promise<LocalAnswer> {
  const chat = createChatPort(core.dispatch, core.ports, async (said) =>
    core.dispatch.receive([await webInbound(said)]),
  );
  const { runId } = await chat.send({
    sessionKey: resolveAlias(request.sessionKey ?? "main", core.ports.settings().defaultAgent),
    text: request.message,
    media: [],
    idempotencyKey: randomUUID(),
    ...(request.thinking && { thinking: request.thinking }),
    ...(request.model !== undefined && { model: request.model }),
    ...(request.timeoutMs !== undefined && { timeoutMs: request.timeoutMs }),
  });
  const stream = chat.stream(runId);
  if (!stream) throw new Error("the run did not begin");
  background(
    "approvals on the command line",
    answerQuestions(stream, chat, request.onApproval ?? (async () => "deny")),
  );
  const answer = await follow(stream, request.onText);
  await core.dispatch.close(1000);
  return { runId, ...answer };
}

/** There is no page and no chat, so the person who started the command answers. */
async function answerQuestions(stream: RunStream, chat: ChatPort, decide: NonNullable<LocalRequest["onApproval"]>) {
  const over = new AbortController();
  background(
    "end of the run",
    stream.done.then(() => over.abort()),
  );
  for await (const event of stream.watch()) {
    if (event.type !== "approval_request") continue;
    const decision = await decide(event.approval, over.signal).catch(() => "deny" as const);
    chat.approvals.resolve(event.approval.id, decision);
  }
}

async function follow(
  stream: RunStream,
  onText: ((delta: string) => void) | undefined,
): Promise<Omit<LocalAnswer, "runId">> {
  const texts: string[] = [];
  for await (const event of stream.watch()) {
    if (event.type === "text_delta") onText?.(event.delta);
    if (event.type === "message_end" && event.text.trim() !== "") texts.push(event.text);
    if (event.type === "answer") texts.push(event.text);
    if (event.type !== "run_end") continue;
    const error = noticeFor(event.result);
    const { usage, model } = event.receipt;
    return { text: texts.join("\n\n"), usage, model, ...(error !== undefined && { error }) };
  }
  return { text: texts.join("\n\n"), usage: emptyUsage(), model: { provider: "none", id: "none" } };
}

/** Opens the state directory without a daemon, with its plugins, for one piece of work. Throws `STATE_LOCKED` while a daemon runs on it. */
async function withLocalCore<T>(work: (core: Core) => Promise<T>): Promise<T> {
  const paths = resolvePaths(process.env);
  await makeStateDirs(paths);
  process.env["OPENCLAW_STATE_DIR"] = paths.stateDir;
  const contributions = bundledContributions();
  const loaded = await loadConfig(await loadOptionsFor(contributions, paths));
  applyEnv(loaded.config, process.env);
  const lock = await acquireStateLock(paths.stateDir);
  try {
    return await inCore(new Live(paths, process.env["HOME"] ?? homedir(), loaded, contributions), work);
  } finally {
    await lock.release();
  }
}

async function inCore<T>(live: Live, work: (core: Core) => Promise<T>): Promise<T> {
  const { level, redactPatterns } = live.config.logging;
  const { wire: sessionName } = keyNames(() => live.defaultAgent.id);
  const to = { dir: live.paths.logs, consoleLevel: "silent", consoleStyle: "pretty" } as const;
  const log = openLog({ ...to, level, redactPatterns, sessionName });
  const core = await openCore(live, log, ALONE);
  const plugins = await openPlugins({ live, core, log, requestHeartbeat: () => undefined });
  try {
    return await work(core);
  } finally {
    await plugins.close();
    await core.close();
  }
}

const ALONE = {
  links: { link: () => undefined, limits: () => undefined },
  gate: async () => ({ kind: "drop", why: "no channels here" }) as const,
  statusLines: () => [],
};
