import { EXEC, exitMessage } from "../../../automation/command-exit.ts";
import { chatOf } from "../../../sessions/chat-of.ts";
import { endLeftBehind } from "../../../tools/host/command/left-running.ts";
import type { BackgroundProcess } from "../../../tools/process/background-process.ts";
import { exitText, runningText } from "../../../tools/process/notices.ts";
import { Processes } from "../../../tools/process/processes.ts";
import type { Clock } from "../../../types/clock.ts";
import { DEFAULT_ACCOUNT, type SessionKey } from "../../../types/ids.ts";
import type { Journal } from "../../../types/journal.ts";
import type { Log } from "../../../types/log.ts";
import type { InboundMessage } from "../../../types/chat/message.ts";
import type { Sessions } from "../../../types/session.ts";
import { background } from "../../../utils/background.ts";
import type { Live } from "../live.ts";

interface Ports {
  readonly clock: Clock;
  readonly log: Log;
  readonly journal: Pick<Journal, "events" | "inbox">;
  readonly sessions: Pick<Sessions, "peek">;
  /** Without the daemon nothing outlives a run. */
  readonly isDaemon: boolean;
  /** Resolves when the message is durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
}

/** The commands that outlive the run that started them. */
export interface OpenCommands {
  /** Unset when none does. */
  readonly processes?: Processes;
  /** The running commands of a conversation, for a model whose transcript was summarised. */
  runningIn(key: SessionKey): readonly string[];
  /** Ends them. */
  close(): Promise<void>;
}

export function openCommands(live: Live, ports: Ports): OpenCommands {
  const processes = ports.isDaemon ? openProcesses(live, ports) : undefined;
  return {
    ...(processes && { processes }),
    runningIn: (key) => (processes ? runningIn(processes, key) : []),
    close: async () => processes?.close(),
  };
}

/** Ends the commands that a killed process of this gateway left. */
function openProcesses(live: Live, ports: Ports): Processes {
  const { log } = ports;
  background("end of commands of an earlier process", endOld(live, log), log);
  const told = new Map<SessionKey, string>();
  return new Processes({
    clock: ports.clock,
    exited: (one) => background("notice of a command's end", tell(one, { ...ports, live, told }), log),
  });
}

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
  /** The latest turn for each conversation. */
  readonly told: Map<SessionKey, string>;
}

/** Puts the end before the next turn of the conversation, and sees to it that there is one soon. */
async function tell(one: BackgroundProcess, { live, told, ...ports }: Scene): Promise<void> {
  const { sessionKey, hasOwnerRights, tools } = one.of.starter;
  const by = one.of.runId;
  const entry = ports.sessions.peek(sessionKey);
  // The conversation was deleted meanwhile.
  if (!entry) return;
  await ports.journal.events.add(sessionKey, exitText(one));
  if (await isWaiting(told.get(sessionKey), ports)) return;
  const now = ports.clock.now();
  const name = `exec:${one.id}:${now}`;
  told.set(sessionKey, name);
  const to = chatOf(sessionKey, entry, live.defaultAgent.id);
  await ports.receive([exitMessage({ name, sessionKey, isOwner: hasOwnerRights, tools, by, now, to })]);
  ports.log.info("background command ended", { session: sessionKey, process: one.id, status: one.status });
}

/** One turn hears of all ends that came before it begins. */
async function isWaiting(name: string | undefined, { journal }: Pick<Ports, "journal">): Promise<boolean> {
  const row = name === undefined ? undefined : await journal.inbox.find(EXEC, DEFAULT_ACCOUNT, name);
  return row?.state === "accepted";
}
