import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import { z } from "zod";
import type { RunLog } from "../../src/harness/log/log.ts";
import type { ModelChoice, RunDeps, RunRequest, UserTurn } from "../../src/harness/request.ts";
import { startRun, type Run } from "../../src/harness/run.ts";
import { createModels, type Models } from "../../src/providers/catalog.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import type { Clock } from "../../src/types/clock.ts";
import type { RunEvent, RunStream } from "../../src/types/run/events.ts";
import { agentId, runId, sessionKey, type SessionKey } from "../../src/types/ids.ts";
import type { ModelRef } from "../../src/types/run/model.ts";
import { type ModelMeter, UNMETERED } from "../../src/types/run/model-meter.ts";
import type { Session, Sessions } from "../../src/types/session.ts";
import type { AgentSettings } from "../../src/types/settings.ts";
import type { ApprovalDesk, Tool } from "../../src/types/run/tool.ts";
import { tableOf } from "../fakes/session-table.ts";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { listen, type Lines } from "../outbox/stage.ts";

export const MODEL: ModelRef = { provider: "fake", id: "fake-1" };
export const SPARE: ModelRef = { provider: "spare", id: "spare-1" };

/** Two providers on one server: the one that is asked first, and the one behind it. */
export function modelsAt(url: string, meter: ModelMeter = UNMETERED): Models {
  const provider = (id: string) => ({
    baseUrl: url,
    api: "openai-completions",
    apiKey: "sk-test-0123456789",
    models: [{ id, contextWindow: 100_000, maxTokens: 4096 }],
  });
  return createModels({
    providers: { fake: provider("fake-1"), spare: provider("spare-1") },
    env: {},
    probeLocal: false,
    meter,
  });
}

/** The longest pause before another try that `src/harness/failover/policy.ts` makes of its own: what is longer is a time limit. */
const LONGEST_PAUSE_MS = 15_000;

/**
 * Real time for `now`. Pauses are kept and cut to a hundredth. Time limits are cut only where the test says so:
 * otherwise one would end on a busy machine what it does not end on an idle one.
 */
export function hastyClock(cutUpTo = LONGEST_PAUSE_MS): Clock & { readonly waits: number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: () => Date.now(),
    after(ms, call) {
      waits.push(ms);
      const timer = setTimeout(call, ms > cutUpTo ? ms : ms / 100);
      return () => clearTimeout(timer);
    },
  };
}

export function settingsFor(workspace: string): AgentSettings {
  return {
    id: agentId("main"),
    workspace,
    model: { primary: MODEL, fallbacks: [] },
    thinking: "off",
    timeoutMs: 60_000,
    timezone: "UTC",
    prompt: { bootstrapMaxChars: 1000, bootstrapTotalMaxChars: 1000, skipBootstrap: true },
    tools: { profile: "full", allow: [], alsoAllow: [], deny: [], workspaceOnly: true },
    exec: { security: "deny", ask: "off", timeoutMs: 1000, safeBins: [], pathPrepend: [] },
    streaming: {
      blocks: false,
      breakAt: "text_end",
      chunk: { minChars: 40, maxChars: 200, breakPreference: "paragraph" },
    },
  };
}

/** A tool of one text argument. */
export function makeTool(
  name: string,
  run: Tool<{ text: string }>["run"],
  hasSideEffects = false,
): Tool<{ text: string }> {
  return {
    name,
    label: name,
    description: `Does ${name}.`,
    input: z.object({ text: z.string().default("") }),
    hasSideEffects,
    run,
  };
}

export const done = (text: string) => ({ content: [{ type: "text" as const, text }] });

export const NOBODY: ApprovalDesk = { ask: async () => "timeout" };

export async function eventsOf(stream: RunStream): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of stream.watch()) events.push(event);
  return events;
}

export interface Stage {
  readonly model: FakeModel;
  readonly sessions: Sessions;
  readonly session: Session;
  readonly log: Lines;
  readonly clock: ReturnType<typeof hastyClock>;
  readonly dir: string;
  start(more?: Partial<RunRequest> & Partial<ModelChoice> & Partial<RunDeps> & { runLog?: RunLog }): Run;
  /** Roles and texts of the transcript's messages. */
  transcript(): Promise<string[]>;
  close(): Promise<void>;
}

export const turn = (text: string, entryId = "turn-1"): UserTurn => ({ entryId, text, images: [], at: 1 });

export async function openStage(key: SessionKey = sessionKey("telegram:default:1")): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), "run-"));
  const log = listen();
  const model = await startFakeModel();
  const models = modelsAt(model.url);
  const clock = hastyClock();
  const sessions = await openSessions({
    dir: join(dir, "sessions"),
    table: await tableOf(dir),
    cwdFor: () => dir,
    log,
    defaultAgent: agentId("main"),
  });
  const session = await sessions.acquire(key);
  let runs = 0;
  return {
    model,
    sessions,
    session,
    log,
    clock,
    dir,
    start({
      approvals = NOBODY,
      clock: own,
      runLog,
      hooks,
      texts,
      pruned,
      spentAfterEnd,
      models: others,
      ...given
    } = {}) {
      const { candidates = [MODEL], askedBefore, keys, ...more } = given;
      runs += 1;
      const facts = {
        runId: runId(`run-${runs}`),
        sessionKey: key,
        sessionId: session.id,
        agentId: session.agentId,
        trigger: "message" as const,
      };
      const request: RunRequest = {
        facts,
        settings: settingsFor(dir),
        conversation: session,
        turn: turn("hello"),
        choice: { candidates, askedBefore, ...(keys && { keys }) },
        thinking: "off",
        timeoutMs: 600_000,
        tools: [],
        systemPrompt: async () => ({ text: "You are a test.", parts: [] }),
        ...more,
      };
      const deps = { models: others ?? models, approvals, log, clock: own ?? clock };
      return startRun(
        request,
        {
          ...deps,
          ...(hooks && { hooks }),
          ...(texts && { texts }),
          ...(pruned && { pruned }),
          ...(spentAfterEnd && { spentAfterEnd }),
        },
        runLog,
      );
    },
    transcript: () => readTranscript(session.file),
    async close() {
      session.release();
      await sessions.close();
      await model.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** What pi's own session manager makes of the file: `role: text` of each message it would show a model. */
export function openedByPi(file: string): string[] {
  return SessionManager.open(file)
    .buildSessionContext()
    .messages.map((message) => {
      const content = "content" in message ? message.content : "";
      const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
      return `${message.role}: ${parts.map((part) => ("text" in part ? part.text : part.type)).join("|")}`;
    });
}

async function readTranscript(file: string): Promise<string[]> {
  const lines = (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return lines
    .filter((line) => line.type === "message")
    .map(({ message }) => {
      const parts = typeof message.content === "string" ? [{ text: message.content }] : message.content;
      return `${message.role}: ${parts.map((part: { type?: string; text?: string }) => part.text ?? part.type).join("|")}`;
    });
}
