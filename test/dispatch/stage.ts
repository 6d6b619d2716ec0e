import { join } from "node:path";
import { inboundOf } from "../../extensions/webchat/inbound.ts";
import { createChatPort } from "../../src/dispatch/clients/chat.ts";
import { HEARTBEAT_TURN } from "../../src/automation/heartbeat-turn.ts";
import { Dispatch } from "../../src/dispatch/dispatch.ts";
import type { DispatchPorts, DispatchSettings, GroupHistoryBuffer, Verdict } from "../../src/dispatch/ports.ts";
import type { CommandContribution } from "../../src/types/contribution.ts";
import { TURN_KINDS, turnKinds } from "../../src/dispatch/turn-kinds/table.ts";
import { endOldQuestions } from "../../src/dispatch/recovery/old-questions.ts";
import { recover } from "../../src/dispatch/recovery/recover.ts";
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
import type { Tool } from "../../src/types/run/tool.ts";
import type { TurnKinds } from "../../src/types/run/turn-kind.ts";
import { type FakeModel, startFakeModel } from "../fakes/model.ts";
import { modelsAt, settingsFor } from "../harness/stage.ts";
import { LIMITS, type Lines, listen, peer, Platform, scratch, stageClock, until } from "../outbox/stage.ts";

export type Rules = Partial<Omit<DispatchSettings, "agents">> & { agent?: Partial<AgentSettings> };

/** One boot of the hallway over a state directory. */
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

/** The state directory, the platform and the model: what outlives a boot. */
export interface Hall {
  readonly model: FakeModel;
  readonly platform: Platform;
  readonly log: Lines;
  readonly dir: string;
  readonly tools: Tool[];
  /** Tools that act in chats, over the parts of a boot. */
  chatTools?: (
    boot: Pick<DispatchPorts, "journal" | "outbox" | "media" | "clock">,
  ) => (agent: AgentSettings, scene?: ChatScene) => readonly Tool[];
  /** All tools of a turn, over the parts of a boot; takes the place of `tools` and `chatTools`. */
  allTools?: (boot: Pick<DispatchPorts, "journal" | "outbox" | "media" | "clock">) => DispatchPorts["tools"];
  /** False while the platform is being connected to. */
  isLinked: boolean;
  /** What the platform takes. */
  limits: ChannelLimits;
  rules: Rules;
  kinds: TurnKinds;
  commands: readonly CommandContribution[];
  liveState?: NonNullable<DispatchPorts["liveState"]>;
  gate: (message: InboundMessage) => Promise<Verdict>;
  groupHistory?: GroupHistoryBuffer;
  transcribe?: NonNullable<DispatchPorts["transcribe"]>;
  journalFor(bootId: string): Promise<OpenJournal>;
  boot(options?: { clock?: Clock }): Promise<Boot>;
  close(): Promise<void>;
}

let events = 0;

export function message(text: string, from = "1", more: Partial<InboundMessage> = {}): InboundMessage {
  events += 1;
  return {
    id: `msg-${events}`,
    eventKey: `event-${events}`,
    from: peer(from),
    sender: { id: from, name: `User ${from}` },
    text,
    media: [],
    mentionsBot: true,
    receivedAt: Date.now(),
    ...more,
  };
}

/** What the user said in a model call, without the metadata before it. */
export const heard = (said: string): string =>
  said
    .replaceAll(/```json[^]*?```/g, "")
    .replaceAll(/^.*\(untrusted[^)]*\):\s*$/gm, "")
    .trim();

export async function openHall(): Promise<Hall> {
  const place = await scratch();
  const model = await startFakeModel();
  const platform = new Platform();
  const log = listen();
  const boots: Boot[] = [];
  model.answer((call) => ({ text: `echo: ${heard(call.said)}` }));
  const hall: Hall = {
    model,
    platform,
    log,
    dir: place.dir,
    tools: [],
    isLinked: true,
    limits: LIMITS,
    rules: {},
    kinds: turnKinds([...TURN_KINDS, HEARTBEAT_TURN]),
    commands: [],
    gate: async () => ({ kind: "pass" }),
    journalFor: (bootId) => place.journal(bootId),
    async boot(options = {}) {
      const boot = await start(hall, `boot-${boots.length + 1}`, options.clock ?? stageClock);
      boots.push(boot);
      return boot;
    },
    async close() {
      for (const boot of boots) await boot.stop();
      await model.close();
      await place.remove();
    },
  };
  return hall;
}

async function start(hall: Hall, bootId: string, clock: Clock): Promise<Boot> {
  const { log, platform, dir } = hall;
  const journal = await hall.journalFor(bootId);
  const sessions = await openSessions({
    dir: join(dir, "sessions"),
    table: journal.sessions,
    cwdFor: () => dir,
    log,
    defaultAgent: agentId("main"),
  });
  const links = { link: () => platform, limits: () => hall.limits };
  const outbox = new Outbox({ journal: journal.outbox, links, log, clock });
  const media = openMediaStore(join(dir, "media"));
  const chatTools = hall.chatTools?.({ journal, outbox, media, clock });
  const ports: DispatchPorts = {
    kinds: hall.kinds,
    ...(hall.liveState && { liveState: hall.liveState }),
    journal,
    sessions,
    outbox,
    media,
    models: modelsAt(hall.model.url),
    clock,
    log,
    settings: () => settings(hall),
    gate: (asked) => hall.gate(asked),
    ...(hall.groupHistory && { groupHistory: hall.groupHistory }),
    link: () => (hall.isLinked ? platform : undefined),
    isConnecting: () => !hall.isLinked,
    transcribe: async (recording) => hall.transcribe?.(recording),
    tools:
      hall.allTools?.({ journal, outbox, media, clock }) ??
      ((agent, _acting, scene) => [...hall.tools, ...(chatTools?.(agent, scene) ?? [])]),
    systemPrompt: async () => ({ text: "You are a test.", parts: [] }),
    statusLines: () => ["Channels: telegram ok"],
  };
  const dispatch = new Dispatch(ports, hall.commands);
  const keyOf = (from: string) => settings(hall).keyFor(message("", from));
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
      await recover(dispatch, ports);
    },
    async ask(text, from) {
      return boot.outcome(await boot.tell(text, from));
    },
    async tell(text, from, more) {
      const said = message(text, from, more);
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

async function found(journal: OpenJournal, { from, eventKey }: InboundMessage): Promise<InboxRow> {
  const row = await journal.inbox.find(from.channel, from.account, eventKey);
  if (!row) throw new Error(`${eventKey} is not in the journal`);
  return row;
}

function settings(hall: Hall): DispatchSettings {
  const { agent, ...rules } = hall.rules;
  const main = { ...settingsFor(hall.dir), ...agent };
  return {
    agents: new Map([[main.id, main]]),
    defaultAgent: main.id,
    queue: { cap: 20, debounceMs: 5, drop: "summarize" },
    queueMode: () => "collect",
    inboundDebounceMs: () => 0,
    textCommands: true,
    resetTriggers: [],
    maxConcurrent: 64,
    keyFor: (asked) =>
      keyForPeer(asked.from, asked.sender, {
        dmScope: "per-channel-peer",
        identityLinks: {},
        agentId: main.id,
        defaultAgent: DEFAULT_AGENT,
      }),
    agentOf: (key) => agentOf(key, DEFAULT_AGENT),
    isOwner: (asked) => asked.sender.id === "owner",
    isOver: () => false,
    chat: () => ({ replyToMode: "off", streaming: "off" }),
    reaction: () => undefined,
    ...rules,
  };
}
