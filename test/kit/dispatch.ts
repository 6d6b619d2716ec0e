import { toolSet } from "./tools.ts";
import { join } from "node:path";
import { inboundOf } from "../../extensions/webchat/inbound.ts";
import { createChatPort } from "../../src/dispatch/clients/chat.ts";
import { HEARTBEAT_TURN } from "../../src/automation/heartbeat-turn.ts";
import { EXEC_TURN } from "../../src/automation/command-exit.ts";
import { subagentTurn } from "../../src/automation/spawn/subagent-turn.ts";
import { Dispatch } from "../../src/dispatch/dispatch.ts";
import type { ChatPorts, DispatchPorts, GroupHistoryBuffer, StoragePorts, Verdict } from "../../src/dispatch/ports.ts";
import type { DispatchSettings } from "../../src/dispatch/settings.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { ImageLoader } from "../../src/history/images/load.ts";
import { PruneMemory } from "../../src/history/prune-memory.ts";
import { OpenDesks, type RestartDesk } from "../../src/types/desks.ts";
import type { Texts } from "../../src/types/journal.ts";
import type { Speaker } from "../../src/types/media/speech.ts";
import { Hooks } from "../../src/plugins/hooks.ts";
import type { CommandContribution, ContributionRegistry } from "../../src/types/contribution.ts";
import { TURN_KINDS, turnKinds } from "../../src/dispatch/turn-kinds.ts";
import { endOldQuestions } from "../../src/dispatch/resume/old-questions.ts";
import { tellRestarted } from "../../src/dispatch/resume/restart-notice.ts";
import { recover } from "../../src/dispatch/recover.ts";
import { Outbox } from "../../src/outbox/deliver.ts";
import { agentOf, keyForPeer } from "../../src/sessions/keys.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import type { OpenJournal } from "../../src/store/journal/journal.ts";
import { openMediaStore } from "../../src/store/media.ts";
import type { ChannelLimits } from "../../src/types/chat/channel.ts";
import type { ChatPort } from "../../src/types/chat/chat.ts";
import type { Clock } from "../../src/types/clock.ts";
import { agentId, DEFAULT_AGENT, type SessionKey } from "../../src/types/ids.ts";
import type { InboxRow, Outcome } from "../../src/types/journal.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import type { ChatScene } from "../../src/types/chat/send.ts";
import type { Session, Sessions } from "../../src/types/session.ts";
import type { AgentSettings } from "../../src/types/settings.ts";
import type { Models } from "../../src/providers/catalog.ts";
import type { Tool } from "../../src/types/run/tool.ts";
import type { TurnKinds } from "../../src/types/run/turn-kind.ts";
import { type FakeModel, startFakeModel } from "../fakes/model.ts";
import { modelsAt } from "./models.ts";
import { NO_BUDGETS } from "./budgets.ts";
import { settingsFor } from "./settings.ts";
import { LIMITS, ChatPlatform } from "../fakes/chat-platform.ts";
import { type RecordedLog, recordLog } from "./log.ts";
import { nextMessage } from "./inbound.ts";
import { openStateDir } from "./store/state-dir.ts";
import { watchedClock } from "./idle.ts";
import { until } from "./until.ts";

export type Rules = Partial<Omit<DispatchSettings, "agents">> & { agent?: Partial<AgentSettings> };

/** One start of the dispatch over a state directory. */
export interface Boot {
  readonly dispatch: Dispatch;
  readonly chat: ChatPort;
  readonly ports: DispatchPorts;
  readonly journal: OpenJournal;
  readonly sessions: Sessions;
  readonly outbox: Outbox;
  /** Takes up replies and messages as the gateway does after a start. */
  recover(): Promise<void>;
  /** Says it and waits until its row is done; the outcome. */
  ask(text: string, from?: string): Promise<Outcome>;
  /** Says it and waits for nothing but the journal. */
  tell(text: string, from?: string, more?: Partial<InboundMessage>): Promise<InboxRow>;
  outcome(row: InboxRow): Promise<Outcome>;
  keyOf(from: string): SessionKey;
  use<T>(from: string, work: (session: Session) => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

/** The parts of a boot that tools are made with. */
type BootParts = Pick<StoragePorts, "journal" | "media"> & Pick<ChatPorts, "outbox"> & Pick<DispatchPorts, "clock">;

/** The state directory, the platform and the model: what outlives a boot. */
export interface DispatchFixture {
  readonly model: FakeModel;
  readonly platform: ChatPlatform;
  readonly log: RecordedLog;
  readonly dir: string;
  readonly tools: Tool[];
  /** Tools that act in chats, over the parts of a boot. */
  chatTools?: (boot: BootParts) => (agent: AgentSettings, scene?: ChatScene) => readonly Tool[];
  /** All tools of a turn, over the parts of a boot; takes the place of `tools` and `chatTools`. */
  allTools?: (boot: BootParts) => DispatchPorts["runs"]["tools"];
  /** What was allowed permanently. */
  readonly remembered: { readonly allowance: string | undefined; readonly by: string }[];
  /** Keeps it. */
  allowances?: DispatchPorts["storage"]["allowances"];
  /** False while the platform is being connected to. */
  isLinked: boolean;
  /** Resolves when the platform is connected to. */
  linked: Promise<void>;
  /** The models and their keys, on the fake server unless the test has others. */
  models: Models;
  /** What the platform takes. */
  limits: ChannelLimits;
  rules: Rules;
  kinds: TurnKinds;
  commands: readonly CommandContribution[];
  /** Adds the hooks of one plugin, called "watcher". */
  hooks?: (on: ContributionRegistry["addHook"]) => void;
  /** Runs record what their models saw. */
  keepsPrompts: boolean;
  restart?: RestartDesk;
  /** How many clients may decide approvals; somebody always can when unset. */
  approverClients?: DispatchPorts["program"]["approverClients"];
  liveState?: DispatchPorts["prompts"]["liveState"];
  systemPrompt?: DispatchPorts["prompts"]["systemPrompt"];
  gate: (message: InboundMessage) => Promise<Verdict>;
  groupHistory?: GroupHistoryBuffer;
  transcribe?: DispatchPorts["prompts"]["transcribe"];
  journalFor(bootId: string): Promise<OpenJournal>;
  boot(options?: { clock?: Clock }): Promise<Boot>;
  close(): Promise<void>;
}

/** What the user said in a model call, without the metadata before it. */
export const heard = (said: string): string =>
  said
    .replaceAll(/```json[^]*?```/g, "")
    .replaceAll(/^.*\(untrusted[^)]*\):\s*$/gm, "")
    .trim();

export async function openDispatchFixture(): Promise<DispatchFixture> {
  const place = await openStateDir();
  const model = await startFakeModel();
  const platform = new ChatPlatform();
  const log = recordLog();
  const boots: Boot[] = [];
  model.answer((call) => ({ text: `echo: ${heard(call.said)}` }));
  const fixture: DispatchFixture = {
    model,
    platform,
    log,
    dir: place.dir,
    tools: [],
    remembered: [],
    isLinked: true,
    linked: Promise.resolve(),
    keepsPrompts: false,
    models: modelsAt(model.url),
    limits: LIMITS,
    rules: {},
    kinds: turnKinds([...TURN_KINDS, HEARTBEAT_TURN, EXEC_TURN, subagentTurn()]),
    commands: [],
    gate: async () => ({ kind: "pass" }),
    journalFor: (bootId) => place.journal(bootId),
    async boot(options = {}) {
      const boot = await start(fixture, `boot-${boots.length + 1}`, options.clock ?? watchedClock);
      boots.push(boot);
      return boot;
    },
    async close() {
      for (const boot of boots) await boot.stop();
      await model.close();
      await place.remove();
    },
  };
  return fixture;
}

async function start(fixture: DispatchFixture, bootId: string, clock: Clock): Promise<Boot> {
  const { log, platform, dir } = fixture;
  const journal = await fixture.journalFor(bootId);
  const sessions = await openSessions({
    dir: join(dir, "sessions"),
    table: journal.sessions,
    cwdFor: () => dir,
    log,
    defaultAgent: agentId("main"),
  });
  const links = { link: () => platform, limits: () => fixture.limits };
  const hooks = hooksOf(fixture, clock);
  const outbox = new Outbox({ journal: journal.outbox, links, log, clock, hooks });
  const media = openMediaStore(join(dir, "media"));
  const chatTools = fixture.chatTools?.({ journal, outbox, media, clock });
  const desks = new OpenDesks();
  if (fixture.restart) desks.open({ restart: fixture.restart });
  const ports: DispatchPorts = {
    clock,
    log,
    kinds: fixture.kinds,
    settings: () => settings(fixture),
    storage: {
      journal,
      sessions,
      media,
      allowances: {
        async remember(approval, by) {
          fixture.remembered.push({ allowance: approval.allowance, by });
          // The tools of this boot, which are made below, may bring them.
          await fixture.allowances?.remember(approval, by);
        },
      },
      closedPaths: [],
    },
    chats: {
      outbox,
      gate: (asked) => fixture.gate(asked),
      groupHistory: fixture.groupHistory ?? { add: () => undefined, take: () => [] },
      link: () => (fixture.isLinked ? platform : undefined),
      buttons: () => undefined,
      linked: () => fixture.linked,
      isConnecting: () => !fixture.isLinked,
      labelOf: () => undefined,
      onPairing: () => undefined,
    },
    runs: {
      hooks,
      texts: fixture.keepsPrompts ? journal.texts : NO_TEXTS,
      pruned: new PruneMemory(),
      images: new ImageLoader({ log, mediaDir: join(dir, "media") }),
      models: fixture.models,
      budgets: NO_BUDGETS,
      tools:
        fixture.allTools?.({ journal, outbox, media, clock }) ??
        ((agent, _acting, scene) => toolSet([...fixture.tools, ...(chatTools?.(agent, scene) ?? [])])),
      toolsReady: async () => undefined,
      engineFor: () => undefined,
    },
    prompts: {
      systemPrompt: async (request) => fixture.systemPrompt?.(request) ?? { text: "You are a test.", parts: [] },
      liveState: (key) => fixture.liveState?.(key) ?? [],
      dailyNotes: async () => [],
      skillsOf: async () => [],
      speaker: SILENT,
      transcribe: async (recording) => fixture.transcribe?.(recording),
      statusLines: () => ["Channels: telegram ok"],
    },
    disk: {
      onDiskFull: async () => undefined,
      onDiskError: () => undefined,
      diskTakesWrites: async () => true,
    },
    program: { approverClients: () => fixture.approverClients?.() ?? 1, desks },
  };
  const dispatch = new Dispatch(ports, { commands: fixture.commands, revision: 0 });
  const keyOf = (from: string) => settings(fixture).keyFor(nextMessage("", from));
  const boot: Boot = {
    dispatch,
    ports,
    journal,
    sessions,
    outbox,
    chat: createChatPort(dispatch, ports, (said) => dispatch.receive([inboundOf(said)])),
    keyOf,
    async recover() {
      await endOldQuestions(ports);
      await outbox.recover();
      await tellRestarted(dispatch.replies.notices, ports);
      await recover(dispatch, ports);
    },
    async ask(text, from) {
      return boot.outcome(await boot.tell(text, from));
    },
    async tell(text, from, more) {
      const said = nextMessage(text, from, more);
      await dispatch.receive([said]);
      return found(journal, said);
    },
    async outcome(row) {
      await until(async () => (await found(journal, row.message)).outcome, `an outcome of "${row.message.text}"`);
      const { outcome } = await found(journal, row.message);
      await until(
        async () => (await journal.outbox.of(row.id)).every(({ state }) => state === "sent" || state === "failed"),
        "its replies",
      );
      return outcome!;
    },
    async use(from, work) {
      const session = await sessions.acquire(keyOf(from));
      try {
        return await work(session);
      } finally {
        session.release();
      }
    },
    async stop() {
      await dispatch.close(0);
      await outbox.close(1000);
      await sessions.close();
      await journal.close();
    },
  };
  return boot;
}

function hooksOf({ hooks: register, log }: DispatchFixture, clock: Clock): Hooks {
  const plugin = { id: "watcher", register: ({ addHook }: ContributionRegistry) => register?.(addHook) };
  return new Hooks(new Contributions([plugin]), clock, log);
}

/** Keeps no prompt. */
const NO_TEXTS: Texts = { put: async () => "none", get: async () => undefined };

/** Speaks nothing: no service is set up. */
const SILENT: Speaker = {
  levelOf: () => "off",
  services: [],
  speak: async () => Promise.reject(new Error("no service is set up")),
  keep: async () => Promise.reject(new Error("no service is set up")),
};

async function found(journal: OpenJournal, { from, eventKey }: InboundMessage): Promise<InboxRow> {
  const row = await journal.inbox.find(from.channel, from.account, eventKey);
  if (!row) throw new Error(`${eventKey} is not in the journal`);
  return row;
}

function settings(fixture: DispatchFixture): DispatchSettings {
  const { agent, ...rules } = fixture.rules;
  const main = { ...settingsFor(fixture.dir), ...agent };
  return {
    agents: new Map([[main.id, main]]),
    defaultAgent: main.id,
    queue: { cap: 20, debounceMs: 5, drop: "summarize" },
    queueMode: () => "collect",
    inboundDebounceMs: () => 0,
    textCommands: true,
    resetTriggers: [],
    stuck: { warnMs: 120_000, endMs: 600_000 },
    maxConcurrent: 64,
    maxConcurrentSubagents: 8,
    keyFor: (asked) =>
      keyForPeer(asked.from, asked.sender, {
        dmScope: "per-channel-peer",
        identityLinks: {},
        agentId: main.id,
        defaultAgent: DEFAULT_AGENT,
      }),
    agentOf: (key) => agentOf(key, DEFAULT_AGENT),
    isOwner: (asked) => asked.sender.id === "owner",
    whyOver: () => undefined,
    chat: () => ({ replyToMode: "off", streaming: "off" }),
    reaction: () => undefined,
    ...rules,
  };
}
