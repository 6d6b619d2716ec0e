import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import type { RunLog } from "../../src/harness/log/run-log.ts";
import type { ModelChoice, RunDeps, RunRequest, UserTurn } from "../../src/harness/request.ts";
import { startRun, type Run } from "../../src/harness/run.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import type { RunEvent, RunStream } from "../../src/types/run/events.ts";
import { agentId, sessionKey, type SessionKey } from "../../src/types/ids.ts";
import type { Session, Sessions } from "../../src/types/session.ts";
import { tableOf } from "./store/session-table.ts";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { shortenedClock } from "./clock.ts";
import { recordLog, type RecordedLog } from "./log.ts";
import { MODEL, modelsAt } from "./models.ts";
import { runFacts } from "./run-facts.ts";
import { NO_BUDGETS } from "./budgets.ts";
import { settingsFor } from "./settings.ts";
import { NO_APPROVER } from "./tools.ts";

export async function eventsOf(stream: RunStream): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of stream.watch()) events.push(event);
  return events;
}

export interface RunFixture {
  readonly model: FakeModel;
  readonly sessions: Sessions;
  readonly session: Session;
  readonly log: RecordedLog;
  readonly clock: ReturnType<typeof shortenedClock>;
  readonly dir: string;
  start(more?: Partial<RunRequest> & Partial<ModelChoice> & Partial<RunDeps> & { runLog?: RunLog }): Run;
  /** Roles and texts of the transcript's messages. */
  transcript(): Promise<string[]>;
  close(): Promise<void>;
}

export const userTurn = (text: string, entryId = "turn-1"): UserTurn => ({ entryId, text, images: [], at: 1 });

export async function openRunFixture(key: SessionKey = sessionKey("telegram:default:1")): Promise<RunFixture> {
  const dir = await mkdtemp(join(tmpdir(), "run-"));
  const log = recordLog();
  const model = await startFakeModel();
  const models = modelsAt(model.url);
  const clock = shortenedClock();
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
      approvals = NO_APPROVER,
      clock: ownClock,
      runLog,
      hooks,
      texts,
      pruned,
      spentAfterEnd,
      images,
      models: others,
      ...given
    } = {}) {
      const { candidates = [MODEL], askedBefore, keys, ...more } = given;
      runs += 1;
      const facts = runFacts(`run-${runs}`, { sessionKey: key, sessionId: session.id, agentId: session.agentId });
      const request: RunRequest = {
        facts,
        settings: settingsFor(dir),
        conversation: session,
        turn: userTurn("hello"),
        choice: { candidates, askedBefore, ...(keys && { keys }) },
        thinking: "off",
        timeoutMs: 600_000,
        tools: [],
        systemPrompt: async () => ({ text: "You are a test.", parts: [] }),
        ...more,
      };
      const deps = { models: others ?? models, approvals, log, clock: ownClock ?? clock };
      const own = { ...bareDeps, ...deps, hooks, texts, pruned, images };
      return startRun(request, { ...own, ...(spentAfterEnd && { spentAfterEnd }) }, runLog);
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

/** No hooks, no limits, no closed paths; prompts are not kept, images not read and results not pruned. */
export const bareDeps = {
  budgets: NO_BUDGETS,
  hooks: undefined,
  texts: undefined,
  images: undefined,
  closedPaths: [],
  pruned: undefined,
};

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
