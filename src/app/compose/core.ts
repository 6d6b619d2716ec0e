import { randomUUID } from "node:crypto";
import { Dispatch } from "../../dispatch/dispatch.ts";
import type { DispatchPorts, ProgramPorts, Verdict } from "../../dispatch/ports.ts";
import type { Outbox } from "../../outbox/deliver.ts";
import type { Links } from "../../outbox/ports.ts";
import { type OpenJournal, openJournal } from "../../store/journal/journal.ts";
import { openMediaStore } from "../../store/media.ts";
import { systemClock } from "../../types/clock.ts";
import type { OpenClawError } from "../../types/errors.ts";
import type { CronActs } from "../../types/cron/acts.ts";
import type { GatewayActs } from "../../types/gateway-acts.ts";
import type { ChannelId } from "../../types/ids.ts";
import type { PairingRequest } from "../../types/answers/pairing.ts";
import type { MediaStore } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import type { Sessions } from "../../types/session.ts";
import { openTools } from "./agent-tools.ts";
import { openCommands } from "./processes/open-commands.ts";
import { gatewayTools } from "./tools/gateway-tools.ts";
import type { OutgoingParts } from "../outgoing.ts";
import type { Live } from "../live.ts";
import { type LiveModels, openLiveModels } from "./live-models.ts";
import { openOutbox } from "./open-outbox.ts";
import { createRules } from "./rules.ts";
import { storyDesk } from "./stories.ts";
import { diskTakesWrites } from "../../store/disk.ts";
import { deniedPaths } from "./tools/file-places.ts";
import { openPrompting } from "./prompting.ts";
import type { SubagentArchive } from "../../automation/spawn/archive.ts";
import { notifyPairing, openHooks, openLiveSessions } from "./plugin-hooks.ts";
import { openRunParts } from "./run-parts.ts";
import { openSandboxes, type OpenSandboxes } from "./sandbox/sandboxing.ts";
import { journalPath } from "../config/paths.ts";
import type { SpawnPorts } from "../../automation/spawn/ports.ts";
import { Spawner } from "../../automation/spawn/spawner.ts";
import { Talk } from "../../automation/talk/talk.ts";
import type { SandboxMachine } from "../../tools/sandbox/machine.ts";
import { background } from "../../utils/background.ts";
import type { Engines } from "./engines.ts";
import { OpenDesks, type RestartDesk } from "../../types/desks.ts";
import type { Processes } from "../../tools/process/processes.ts";
import { spawnRules, talkRules } from "./subagents/rules.ts";
import { openSubagents } from "./subagents/subagents.ts";

/** The parts that the daemon and `agent --local` share: state, models, dispatch. */
export interface Core {
  readonly journal: OpenJournal;
  readonly sessions: Sessions;
  readonly media: MediaStore;
  readonly models: LiveModels;
  readonly outbox: Outbox;
  readonly dispatch: Dispatch;
  readonly ports: DispatchPorts;
  /** A feature of the program opens its desk here. */
  readonly desks: OpenDesks;
  /** The commands that run in the background; none outlive a run when unset. */
  readonly processes: Pick<Processes, "all"> | undefined;
  /**
   * The sandboxes of this machine. The first run waits until they were tried, since the mode `auto` confines nothing
   * before.
   */
  readonly sandboxes: OpenSandboxes;
  /** Archive of the conversations of subagents; the daemon starts it. */
  readonly archive: SubagentArchive;
  /** Flushes and closes the stores. */
  close(): Promise<void>;
}

/** Acts on the daemon itself. */
interface DaemonActs {
  /** See `DispatchPorts`. */
  approverClients?: ProgramPorts["approverClients"];
  /** Restarts the process; only the daemon can. */
  readonly restart?: RestartDesk;
  /**
   * Acts of the tool `gateway`; agents do not have the tool when unset. The acts call `ports` when they are used, not
   * before.
   */
  gatewayActs?(ports: () => DispatchPorts): GatewayActs;
  /** Acts of the tool `cron`; undefined until the scheduled jobs are read. */
  cronActs?(): CronActs | undefined;
}

/** Parts that only the daemon has. */
export interface Surroundings extends DaemonActs {
  readonly links: Links;
  /** See `DispatchPorts`. */
  isConnecting?(to: Peer): boolean;
  /** See `DispatchPorts`. */
  labelOf?: DispatchPorts["chats"]["labelOf"];
  /** The channels' accounts; without them no tool can act in chats. */
  accounts?: OutgoingParts["channels"]["status"];
  gate(message: InboundMessage): Promise<Verdict>;
  groupHistory?: DispatchPorts["chats"]["groupHistory"];
  statusLines(): readonly string[];
  /** See `DispatchPorts`. */
  onDiskFull?: DispatchPorts["disk"]["onDiskFull"];
  /** See `DispatchPorts` and `OutboxDeps`. */
  onDiskError?(error: OpenClawError): void;
  onSent?(to: Peer): void;
  onPairing?(request: PairingRequest): void;
}

/** Opens the state directory. The caller holds its lock. */
export async function openCore(live: Live, log: Log, around: Surroundings): Promise<Core> {
  const clock = systemClock;
  const sandboxes = openSandboxes(live, { clock, log });
  const { machine } = sandboxes;
  const journal = await journalOf(live, log);
  const hooks = openHooks(live, clock, log);
  const sessions = await openLiveSessions(live, { hooks, table: journal.sessions, log });
  const media = openMediaStore(live.paths.media);
  const models = await openLiveModels(live, { log, clock, ledger: journal.spend });
  const runs = openRunParts({ live, hooks, models, sessions, journal, sandboxes, clock, log });
  const { links, onSent } = around;
  const onDiskError = (error: OpenClawError) => around.onDiskError?.(error);
  const outbox = openOutbox(live, { journal: journal.outbox, links, hooks, log, clock, onSent, onDiskError });
  const others = { subagents: () => opened.spawner, talk: () => opened.talk };
  const chats = { live, around, media, outbox, sent: journal.outbox, clock };
  const own = gatewayTools(chats, () => ports, around, { ...others, speaker: runs.prompts.speaker });
  const { allowances, mcp, browsers } = runs;
  const desks = new OpenDesks();
  const settings = createRules(live);
  desks.open({ stories: storyDesk(journal, settings), ...(around.restart && { restart: around.restart }) });
  const prompting = await openPrompting(live, { log, clock, hooks });
  const receive = (messages: readonly InboundMessage[]) => dispatch.receive(messages);
  const commands = openCommands(live, { clock, log, journal, sessions, receive, isDaemon: !!around.restart });
  const ports: DispatchPorts = {
    clock,
    log,
    kinds: runs.kinds,
    settings,
    storage: { journal, sessions, media, allowances: runs.allowances, closedPaths: deniedPaths(live) },
    chats: { ...chatPorts(around), outbox, onPairing: (request) => onPairing(request, hooks, around) },
    runs: {
      ...runs.ports,
      models,
      budgets: models.budgets,
      tools: openTools(live, { received: journal.received, log, ...runs, ...commands, ...prompting }, own),
    },
    prompts: {
      ...runs.prompts,
      ...prompting.ports,
      liveState: (key) => commands.runningIn(key),
      statusLines: () => around.statusLines(),
    },
    disk: {
      onDiskFull: around.onDiskFull ?? (async () => undefined),
      onDiskError,
      diskTakesWrites: () => diskTakesWrites(live.paths.stateDir),
    },
    program: { approverClients: () => around.approverClients?.() ?? ANY_CLIENT, desks },
  };
  const dispatch = new Dispatch(ports, prompting.commands);
  const opened = openOtherSessions(live, { dispatch, ports, engines: runs.engines, machine });
  desks.open({ subagents: opened.spawner });
  const close = () => closeAll(opened, commands, allowances, mcp, browsers, runs.engines, sessions, models, journal);
  const { archive } = opened.spawner;
  const { processes } = commands;
  return { journal, sessions, media, models, outbox, dispatch, ports, desks, processes, sandboxes, archive, close };
}

/** The chats that the surroundings know. */
const chatPorts = (around: Surroundings) => ({
  gate: (message: InboundMessage) => around.gate(message),
  groupHistory: around.groupHistory ?? NO_HISTORY,
  link: (to: Peer) => around.links.link(to),
  buttons: (to: Peer) => around.links.buttons?.(to),
  linked: around.links.linked ?? untilAborted,
  isConnecting: (to: Peer) => around.isConnecting?.(to) === true,
  labelOf: (channel: ChannelId) => around.labelOf?.(channel),
});

/** A process without channels keeps no messages of groups. */
const NO_HISTORY: DispatchPorts["chats"]["groupHistory"] = { add: () => undefined, take: () => [] };

/**
 * Clients that may decide approvals: without the daemon's server nobody counts them, and somebody may always decide.
 */
const ANY_CLIENT = 1;

/** Nothing is connected in a process without channels. */
const untilAborted = (_to: Peer, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

function onPairing(request: PairingRequest, hooks: Parameters<typeof notifyPairing>[1], around: Surroundings): void {
  notifyPairing(request, hooks);
  around.onPairing?.(request);
}

/**
 * Closes the parts in sequence, because an earlier part may need a later one. Throws the first error after all are
 * closed.
 */
async function closeAll(...parts: readonly { close(): Promise<void> }[]): Promise<void> {
  const errors: unknown[] = [];
  for (const part of parts) await part.close().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

/** Opens the journal of the state directory, whose lock the caller holds. */
const journalOf = ({ paths, config }: Live, log: Log): Promise<OpenJournal> =>
  openJournal({ path: journalPath(paths), bootId: randomUUID(), sync: config.journal.fsync, log });

interface Sources {
  readonly dispatch: Dispatch;
  readonly ports: DispatchPorts;
  readonly engines: Pick<Engines, "spawns">;
  readonly machine: SandboxMachine;
}

/**
 * Acts of agents on other sessions: subagents and relays. `close` ends the admission of messages that follow from
 * others.
 */
interface OpenSessions {
  readonly spawner: Spawner;
  readonly talk: Talk;
  close(): Promise<void>;
}

function openOtherSessions(live: Live, { dispatch, ports, engines, machine }: Sources): OpenSessions {
  const {
    clock,
    log,
    storage: { journal, sessions },
  } = ports;
  const { inbox, outbox } = journal;
  const shared = { clock, log, inbox, sessions };
  const spawning: SpawnPorts = {
    ...shared,
    runs: openSubagents(live, { dispatch, journal, sessions, ports }),
    engine: engines.spawns,
    rules: () => spawnRules(live, machine),
    running: () => dispatch.registry.running(),
    stop: (key) => dispatch.stop(key),
    afterRuns: (key, work) => dispatch.afterRuns(key, work),
  };
  const spawner = new Spawner(spawning);
  const rules = () => talkRules(live);
  const talk = new Talk({ ...shared, outbox, rules, receive: (messages) => dispatch.receive(messages) });
  const stop = new AbortController();
  background("messages that follow from others", admitFollowing(dispatch, ports, stop.signal), log);
  return {
    spawner,
    talk,
    async close() {
      stop.abort();
      await spawner.archive.close();
    },
  };
}

/**
 * Admits each message that the journal accepted because another one ended, as every message is admitted. Resolves once
 * the signal aborts.
 */
async function admitFollowing(
  dispatch: Dispatch,
  { storage: { journal } }: DispatchPorts,
  signal: AbortSignal,
): Promise<void> {
  for await (const row of journal.inbox.followed(signal))
    background("a message that follows from another", dispatch.admit(row));
}
