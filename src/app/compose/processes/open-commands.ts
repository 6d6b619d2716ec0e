import { EXEC, exitMessage } from "../../../automation/command-exit.ts";
import { chatOf } from "../../../sessions/chat-of.ts";
import { endLeftBehind } from "../../../tools/host/command/left-running.ts";
import { type DrawJob, DrawJobs } from "../../../tools/media/draw-jobs.ts";
import { drawnText } from "../../../tools/media/image-generate.ts";
import type { BackgroundProcess } from "../../../tools/process/background-process.ts";
import { exitText, runningText } from "../../../tools/process/notices.ts";
import { Processes } from "../../../tools/process/processes.ts";
import type { Starter } from "../../../tools/process/starter.ts";
import type { Clock } from "../../../types/clock.ts";
import { DEFAULT_ACCOUNT, type RunId, type SessionKey } from "../../../types/ids.ts";
import type { Journal } from "../../../types/journal.ts";
import type { Log } from "../../../types/log.ts";
import type { InboundMessage } from "../../../types/chat/message.ts";
import type { Sessions } from "../../../types/session.ts";
import { background } from "../../../utils/background.ts";
import type { Live } from "../../live.ts";

interface Ports {
  readonly clock: Clock;
  readonly log: Log;
  readonly journal: Pick<Journal, "events" | "inbox">;
  readonly sessions: Pick<Sessions, "peek">;
  /** True in the daemon; without it nothing outlives a run. */
  readonly isDaemon: boolean;
  /** Takes messages. Resolves when they are durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
}

/** The commands and drawings that outlive the run that started them. */
export interface OpenCommands {
  /** The background commands; unset when none outlives its run. */
  readonly processes?: Processes;
  readonly drawings?: DrawJobs;
  /** The running commands of a conversation, for a model whose transcript was summarised. */
  runningIn(key: SessionKey): readonly string[];
  /** Ends the commands and drawings. */
  close(): Promise<void>;
}

export function openCommands(live: Live, ports: Ports): OpenCommands {
  if (!ports.isDaemon) return { runningIn: () => [], close: async () => undefined };
  const { clock, log } = ports;
  background("end of commands of an earlier process", endOld(live, log), log);
  const scene = { ...ports, live, told: new Map<SessionKey, string>() };
  const processes = new Processes({
    clock,
    exited: (one) => background("notice of a command's end", tell(exitOf(one), scene), log),
  });
  const drawings = new DrawJobs({
    clock,
    ended: (job) => background("notice of a drawing's end", tell(drawnOf(job), scene), log),
  });
  return {
    processes,
    drawings,
    runningIn: (key) => runningIn(processes, key),
    close: async () => void (await Promise.all([processes.close(), drawings.close()])),
  };
}

/** A background command or drawing that has ended. */
interface Ended {
  readonly what: "command" | "drawing";
  readonly id: string;
  readonly starter: Starter;
  readonly by: RunId | undefined;
  readonly text: string;
}

const exitOf = (one: BackgroundProcess): Ended => ({
  what: "command",
  id: one.id,
  starter: one.of.starter,
  by: one.of.runId,
  text: exitText(one),
});

const drawnOf = (job: DrawJob): Ended => ({
  what: "drawing",
  id: job.id,
  starter: job.starter,
  by: job.runId,
  text: drawnText(job),
});

const runningIn = (processes: Processes, key: SessionKey): readonly string[] =>
  processes
    .all()
    .filter((one) => one.status === "running" && one.of.starter.sessionKey === key)
    .map(runningText);

async function endOld({ paths }: Live, log: Log): Promise<void> {
  const ended = await endLeftBehind(paths.stateDir);
  if (ended.length > 0)
    log.warn("commands of an earlier process ended", { commands: ended.map(({ command }) => command) });
}

interface Scene extends Ports {
  readonly live: Live;
  /** Name of the latest message about an end, for each conversation. */
  readonly told: Map<SessionKey, string>;
}

/** Puts the end before the next turn of the conversation, and begins a turn unless one about another end is waiting. */
async function tell({ what, id, starter, by, text }: Ended, { live, told, ...ports }: Scene): Promise<void> {
  const { sessionKey, hasOwnerRights, tools } = starter;
  const entry = ports.sessions.peek(sessionKey);
  // The conversation was deleted meanwhile.
  if (!entry) return;
  await ports.journal.events.add(sessionKey, text);
  if (await isWaiting(told.get(sessionKey), ports)) return;
  const now = ports.clock.now();
  const name = `exec:${id}:${now}`;
  told.set(sessionKey, name);
  const to = chatOf(sessionKey, entry, live.defaultAgent.id);
  await ports.receive([exitMessage({ what, name, sessionKey, isOwner: hasOwnerRights, tools, by, now, to })]);
  ports.log.info(`background ${what} ended`, { session: sessionKey, id });
}

/** Whether the message of that name still waits for its turn. The turn shows all ends that came before it begins. */
async function isWaiting(name: string | undefined, { journal }: Pick<Ports, "journal">): Promise<boolean> {
  const row = name === undefined ? undefined : await journal.inbox.find(EXEC, DEFAULT_ACCOUNT, name);
  return row?.state === "accepted";
}
