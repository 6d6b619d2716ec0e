import type { Answers } from "openclaw/plugin-sdk/answers";
import type { Lack } from "../browser/parts.ts";
import type { CommandRow } from "./commands.ts";
import { afterAgent, afterChat, ended, NO_REPLY_YET } from "./exchanges.ts";
import type { Exchange, Sent } from "./exchanges.ts";
import type { PageFile } from "./files.ts";
import { agentInKey, plainKey } from "./format.ts";
import type { AgentRow } from "./agents.ts";
import { fields, stringOr } from "./json.ts";
import type { Approval, GatewayStatus, Hello, ModelRow, Pairing, SessionRow } from "./protocol.ts";
import type { WaitingMessage } from "./waiting.ts";
import type { TranscriptTurn } from "./transcript.ts";
import { endOf, isUnbegun, isWritten, withRuns } from "./view.ts";

/** The state of the connection to the gateway. `retryAt` is milliseconds since 1970. */
export type Link =
  | { readonly state: "connecting" }
  | { readonly state: "connected" }
  | { readonly state: "waiting"; readonly retryAt: number; readonly reason: string }
  | { readonly state: "offline" }
  | { readonly state: "unauthorized"; readonly message: string }
  | { readonly state: "refused"; readonly message: string };

/** The part of the open session's transcript that was read. `last` is the position of its last message. */
export interface PageTranscript {
  /** The turns as the gateway gave them. */
  readonly read: readonly TranscriptTurn[];
  /** The same turns, each with its run if the page knows that. */
  readonly turns: readonly TranscriptTurn[];
  readonly last: number;
  readonly hasMore: boolean;
  readonly loaded: boolean;
  /** The messages of which there are others. */
  readonly versions?: readonly TurnVersions[] | undefined;
}

/** The versions of a message that was edited or answered again: the place of the one that is shown, from 0, and their branches. */
export type TurnVersions = Answers["sessions.branches.versions"]["versions"][number];

/** What the gateway has: agents, models, commands, and more sessions than were read. */
interface Catalog {
  /** The default one first. */
  readonly agents: readonly AgentRow[];
  readonly models: readonly ModelRow[];
  /** Model of a new session. */
  readonly defaultModel: { readonly id: string; readonly provider: string };
  readonly commands: readonly CommandRow[];
  /** There are sessions that are older than those that were read. */
  readonly hasOlderSessions: boolean;
}

/** The people of the channels, as far as somebody has to decide about them. */
interface People {
  /** Who waits for pairing. */
  readonly pairings: readonly Pairing[];
  /** The number of senders who wrote and got no pairing code. */
  readonly turnedAway: number;
  /** The owners of the channels as in the config; unset when the gateway does not show them. */
  readonly owners?: readonly string[] | undefined;
}

/** A dialog about the whole gateway. */
export type Panel = "model";

/** The views beside the chat, in the order in which they are offered. */
export const VIEWS = [
  "needs",
  "conversations",
  "channels",
  "people",
  "jobs",
  "usage",
  "agents",
  "memory",
  "skills",
  "plugins",
  "tools",
  "models",
  "health",
  "logs",
  "config",
] as const;
export type PageView = (typeof VIEWS)[number];

/** What is shown beside the open session, or in its place. */
interface Shown {
  readonly panel?: Panel | undefined;
  /** In place of the session. */
  readonly view?: PageView | undefined;
  /** Key of the config that the view shows. */
  readonly key?: string | undefined;
  /** What the person has to know now. */
  readonly notice?: string | undefined;
  /** What the page lacks. */
  readonly lack?: Lack | undefined;
  /** The conversation that the person put into the archive last, as long as that can be taken back here. */
  readonly archived?: ArchivedChat | undefined;
  /** The search in the open session. */
  readonly find?: boolean | undefined;
  /** The settings of the open session. */
  readonly settings?: boolean | undefined;
}

interface ArchivedChat {
  readonly key: string;
  readonly title: string;
  readonly wasOpen: boolean;
}

/** A message of the open session that the person writes anew; what comes after it is then left behind. */
export interface Editing {
  readonly entryId: string;
  readonly text: string;
  readonly files: readonly PageFile[];
}

/** What changes the message that is being written, from outside of its field. */
interface Composing {
  readonly editing?: Editing | undefined;
  /** How often a text came back from the gateway into the unsent text of a session. */
  readonly givenBack: number;
}

/** Everything that the page shows, except unsent input. */
export interface PageState {
  readonly link: Link;
  readonly hello?: Hello | undefined;
  readonly sessionKey: string;
  readonly transcript: PageTranscript;
  readonly exchanges: readonly Exchange[];
  /** Messages of the open session that wait for their turn, of this page and of others. */
  readonly waiting: readonly WaitingMessage[];
  readonly sessions: readonly SessionRow[];
  readonly catalog: Catalog;
  readonly approvals: readonly Approval[];
  readonly people: People;
  readonly shown: Shown;
  readonly composing: Composing;
  readonly status: GatewayStatus;
  /** A token from a link that the person has not accepted yet. */
  readonly offered?: string | undefined;
}

/** All actions on the state. */
export type Action =
  | { readonly type: "link"; readonly link: Link }
  | { readonly type: "hello"; readonly hello: Hello }
  | { readonly type: "open"; readonly sessionKey: string }
  | {
      readonly type: "history";
      readonly sessionKey: string;
      readonly turns: readonly TranscriptTurn[];
      readonly hasMore: boolean;
    }
  | { readonly type: "versions"; readonly sessionKey: string; readonly versions: readonly TurnVersions[] }
  | { readonly type: "waiting"; readonly sessionKey: string; readonly messages: readonly WaitingMessage[] }
  | { readonly type: "cleared"; readonly sessionKey: string }
  | {
      readonly type: "sessions";
      readonly rows: readonly SessionRow[];
      readonly hasMore?: boolean;
      readonly defaultModel: Catalog["defaultModel"];
      /** Runs that began before this time and are in no row have ended; milliseconds since 1970. */
      readonly settleBefore?: number | undefined;
    }
  | { readonly type: "models"; readonly models: readonly ModelRow[] }
  | { readonly type: "catalog"; readonly change: Partial<Pick<Catalog, "agents" | "commands">> }
  | { readonly type: "status"; readonly status: GatewayStatus }
  | { readonly type: "approvals"; readonly approvals: readonly Approval[] }
  | { readonly type: "approval"; readonly approval: Approval }
  | { readonly type: "resolved"; readonly id: string }
  | { readonly type: "pairings"; readonly pairings: readonly Pairing[]; readonly turnedAway: number }
  | { readonly type: "owners"; readonly owners: readonly string[] }
  | { readonly type: "panel"; readonly panel: Panel | undefined }
  | { readonly type: "find"; readonly isOpen: boolean }
  | { readonly type: "settings"; readonly isOpen: boolean }
  | { readonly type: "given back" }
  | { readonly type: "view"; readonly view: PageView | undefined; readonly key?: string | undefined }
  | {
      readonly type: "send";
      readonly runId: string;
      readonly sent: Sent;
      readonly at: number;
      /** The open session unless given. */
      readonly sessionKey?: string;
    }
  | {
      readonly type: "sent";
      readonly runId: string;
      readonly state: Sent["state"];
      readonly error?: string | undefined;
    }
  | { readonly type: "edit"; readonly editing: Editing | undefined }
  | { readonly type: "rewound"; readonly sessionKey: string }
  | { readonly type: "dropped"; readonly runId: string }
  | { readonly type: "chat"; readonly payload: unknown; readonly at: number }
  | { readonly type: "agent"; readonly payload: unknown; readonly at: number }
  | { readonly type: "notice"; readonly text?: string | undefined }
  | { readonly type: "lack"; readonly lack: Lack | undefined }
  | { readonly type: "archived"; readonly chat?: ArchivedChat | undefined }
  | { readonly type: "offered"; readonly token: string | undefined };

const NOTHING_LOADED: PageTranscript = { read: [], turns: [], last: 0, hasMore: false, loaded: false };

/** The state before the first answer of the gateway. */
export function initialState(sessionKey: string): PageState {
  return {
    link: { state: "connecting" },
    sessionKey,
    transcript: NOTHING_LOADED,
    exchanges: [],
    waiting: [],
    sessions: [],
    catalog: { agents: [], models: [], defaultModel: { id: "", provider: "" }, commands: [], hasOlderSessions: false },
    approvals: [],
    people: { pairings: [], turnedAway: 0 },
    shown: {},
    composing: { givenBack: 0 },
    status: { problems: [], model: { id: "", provider: "", demo: false } },
  };
}

/** Whether a session key of the gateway is that of the open session. */
export function isOpen(state: PageState, key: string): boolean {
  return sameSession(state, key, state.sessionKey);
}

function sameSession(state: PageState, one: string, other: string): boolean {
  const agent = state.hello?.defaultAgent;
  return plainKey(one, agent) === plainKey(other, agent);
}

/** The title of the agent of a session, where that is not the default one; its id when the gateway does not list it. */
export function agentTitle(state: PageState, key: string): string | undefined {
  const id = agentInKey(key, state.hello?.defaultAgent);
  return state.catalog.agents.find((row) => row.id === id)?.title ?? id;
}

/** The row of the open session, once the gateway has one. */
export function openRow(state: PageState): SessionRow | undefined {
  return rowOf(state, state.sessionKey);
}

/** The row of a session, once the gateway has one. */
export function rowOf(state: PageState, key: string): SessionRow | undefined {
  return state.sessions.find((row) => sameSession(state, row.key, key));
}

/** How much waits for the person: questions, strangers, and problems of the gateway. */
export function needsOf({ approvals, people, status }: PageState): number {
  return approvals.length + people.pairings.length + status.problems.length;
}

const ofSession = (sessionKey: string) => ({ sessionKey, transcript: NOTHING_LOADED, waiting: [] });

/** Applies an action to the state. Pure; an action on something unknown changes nothing. */
export function reduce(state: PageState, action: Action): PageState {
  switch (action.type) {
    case "link":
      return { ...state, link: action.link };
    case "hello":
      return { ...state, hello: action.hello, exchanges: state.exchanges.map(withoutSeq) };
    case "open":
      return {
        ...state,
        ...ofSession(action.sessionKey),
        composing: { ...state.composing, editing: undefined },
        shown: { ...state.shown, view: undefined, find: false, settings: false },
      };
    case "models":
      return { ...state, catalog: { ...state.catalog, models: action.models } };
    case "catalog":
      return { ...state, catalog: { ...state.catalog, ...action.change } };
    case "status":
      return { ...state, status: action.status };
    case "offered":
      return { ...state, offered: action.token };
    case "pairings":
      return { ...state, people: { ...state.people, pairings: action.pairings, turnedAway: action.turnedAway } };
    case "owners":
      return { ...state, people: { ...state.people, owners: action.owners } };
    case "sessions":
      return afterSessions(state, action);
    case "history":
      return afterHistory(state, action);
    default:
      return reduceRuns(state, action);
  }
}

/** Resets the event number: a restarted gateway numbers the events of a continued run from 1. */
function withoutSeq(exchange: Exchange): Exchange {
  return ended(exchange.reply) ? exchange : { ...exchange, reply: { ...exchange.reply, seq: NO_REPLY_YET.seq } };
}

function reduceRuns(state: PageState, action: Action): PageState {
  switch (action.type) {
    case "approvals":
      return { ...state, approvals: action.approvals };
    case "approval":
      return { ...state, approvals: [...without(state.approvals, action.approval.id), action.approval] };
    case "resolved":
      return { ...state, approvals: without(state.approvals, action.id) };
    case "cleared":
      return afterDelete(state, action.sessionKey);
    case "send":
      return { ...state, exchanges: [...state.exchanges, newExchange(state, action)] };
    case "sent":
      return withExchange(state, action.runId, (exchange) => withSendState(exchange, action));
    case "edit":
      return { ...state, composing: { ...state.composing, editing: action.editing } };
    case "rewound":
      return afterRewind(state, action.sessionKey);
    case "dropped":
      return withoutRun(state, action.runId);
    case "waiting":
      return isOpen(state, action.sessionKey) ? { ...state, waiting: action.messages } : state;
    case "chat":
      return withExchange(withRunOfOthers(state, action), runOf(action.payload), (exchange) => ({
        ...exchange,
        reply: afterChat(exchange.reply, action.payload),
      }));
    case "agent":
      return withExchange(withRunOfOthers(state, action), runOf(action.payload), (exchange) => ({
        ...exchange,
        reply: afterAgent(exchange.reply, action.payload),
      }));
    default:
      return reduceShown(state, action);
  }
}

function reduceShown(state: PageState, action: Action): PageState {
  switch (action.type) {
    case "lack":
      return { ...state, shown: { ...state.shown, lack: action.lack } };
    case "notice":
      return { ...state, shown: { ...state.shown, notice: action.text } };
    case "archived":
      return { ...state, shown: { ...state.shown, archived: action.chat } };
    case "panel":
      return { ...state, shown: { ...state.shown, panel: action.panel } };
    case "view":
      return { ...state, shown: { ...state.shown, view: action.view, key: action.key } };
    case "versions":
      if (!isOpen(state, action.sessionKey)) return state;
      return { ...state, transcript: { ...state.transcript, versions: action.versions } };
    case "find":
      return { ...state, shown: { ...state.shown, find: action.isOpen } };
    case "settings":
      return { ...state, shown: { ...state.shown, settings: action.isOpen } };
    case "given back":
      return { ...state, composing: { ...state.composing, givenBack: state.composing.givenBack + 1 } };
    default:
      return state;
  }
}

function withoutRun(state: PageState, runId: string): PageState {
  const isOther = (one: { readonly runId: string }): boolean => one.runId !== runId;
  return { ...state, exchanges: state.exchanges.filter(isOther), waiting: state.waiting.filter(isOther) };
}

function without(approvals: readonly Approval[], id: string): readonly Approval[] {
  return approvals.filter((approval) => approval.id !== id);
}

function newExchange(state: PageState, action: Extract<Action, { type: "send" }>): Exchange {
  const { runId, sent, at, sessionKey = state.sessionKey } = action;
  return { runId, sessionKey, anchor: state.transcript.last, at, sent, reply: NO_REPLY_YET };
}

function withSendState(exchange: Exchange, action: { state: Sent["state"]; error?: string | undefined }): Exchange {
  if (exchange.sent === undefined) return exchange;
  const tried = exchange.sent.tried === true || action.state === "sending";
  return { ...exchange, sent: { ...exchange.sent, state: action.state, tried, error: action.error } };
}

function runOf(payload: unknown): string {
  return stringOr(fields(payload)["runId"]);
}

function withExchange(state: PageState, runId: string, change: (exchange: Exchange) => Exchange): PageState {
  if (!state.exchanges.some((exchange) => exchange.runId === runId)) return state;
  return { ...state, exchanges: state.exchanges.map((item) => (item.runId === runId ? change(item) : item)) };
}

/** Adds a run that another client began in the open session; ignores runs of other sessions. */
function withRunOfOthers(state: PageState, action: { payload: unknown; at: number }): PageState {
  const runId = runOf(action.payload);
  const sessionKey = stringOr(fields(action.payload)["sessionKey"]);
  if (runId === "" || !isOpen(state, sessionKey)) return state;
  if (state.exchanges.some((exchange) => exchange.runId === runId)) return state;
  if (isLate(action.payload)) return state;
  const exchange = { runId, sessionKey, anchor: state.transcript.last, at: action.at, reply: NO_REPLY_YET };
  return { ...state, exchanges: [...state.exchanges, exchange] };
}

/**
 * An event that can come after the end of its run, which are usage and the end of the lifecycle, or that ends a run before it
 * began.
 */
function isLate(payload: unknown): boolean {
  const event = fields(payload);
  if (event["state"] === "aborted" && event["message"] === undefined) return true;
  const isEnd = event["stream"] === "lifecycle" && fields(event["data"])["phase"] !== "start";
  return isEnd || event["stream"] === "usage";
}

function afterHistory(state: PageState, action: Extract<Action, { type: "history" }>): PageState {
  if (!isOpen(state, action.sessionKey)) return state;
  const { hasMore } = action;
  const endedHere = state.exchanges.filter((exchange) => isOpen(state, exchange.sessionKey) && ended(exchange.reply));
  const turns = withRuns(action.turns, endedHere, state.transcript);
  const last = turns.at(-1)?.last ?? 0;
  const exchanges = state.exchanges.filter((exchange) => {
    if (!isOpen(state, exchange.sessionKey)) return !ended(exchange.reply);
    return !isWritten(exchange, turns);
  });
  const removed = state.exchanges.filter((exchange) => !exchanges.includes(exchange));
  const moved = exchanges.map((exchange) => {
    if (!isOpen(state, exchange.sessionKey)) return exchange;
    const waits = exchange.sent?.state === "queued" && exchange.sent.tried !== true;
    // A run that never began comes after the run that it waited for.
    const follows = isUnbegun(exchange) && removed.some(({ at }) => at <= exchange.at);
    if (waits || follows) return { ...exchange, anchor: last };
    const earlier = state.exchanges.slice(0, state.exchanges.indexOf(exchange)).filter((one) => removed.includes(one));
    return { ...exchange, anchor: Math.max(exchange.anchor, ...earlier.map((one) => endOf(one, turns))) };
  });
  const transcript = { ...state.transcript, read: action.turns, turns, last, hasMore, loaded: true };
  return { ...state, exchanges: moved, transcript };
}

function afterDelete(state: PageState, sessionKey: string): PageState {
  const exchanges = state.exchanges.filter((exchange) => !sameSession(state, exchange.sessionKey, sessionKey));
  const transcript = isOpen(state, sessionKey) ? { ...NOTHING_LOADED, loaded: true } : state.transcript;
  return { ...state, exchanges, transcript };
}

/** The conversation continues at an earlier place: runs that have ended and are not in the transcript are on another branch. */
function afterRewind(state: PageState, sessionKey: string): PageState {
  const isKept = ({ sessionKey: of, reply }: Exchange): boolean => !sameSession(state, of, sessionKey) || !ended(reply);
  return { ...state, exchanges: state.exchanges.filter(isKept) };
}

function afterSessions(state: PageState, action: Extract<Action, { type: "sessions" }>): PageState {
  const { rows, hasMore: hasOlderSessions = false, defaultModel, settleBefore } = action;
  const running = new Set(rows.flatMap((row) => row.activeRuns));
  const exchanges = state.exchanges.map((exchange): Exchange => {
    if (settleBefore === undefined || exchange.at >= settleBefore || running.has(exchange.runId)) return exchange;
    const row = rows.find((item) => sameSession(state, item.key, exchange.sessionKey));
    const isBusyWithUnknown = row?.active === true && row.activeRuns.length === 0;
    const hasBegun = exchange.sent === undefined || exchange.sent.state === "accepted";
    if (!hasBegun || isBusyWithUnknown || ended(exchange.reply)) return exchange;
    return { ...exchange, reply: { ...exchange.reply, state: "final", phase: undefined } };
  });
  const catalog = { ...state.catalog, defaultModel, hasOlderSessions };
  const { archived } = state.shown;
  // A message, or another client, has brought it back.
  const isBack = archived !== undefined && rows.some(({ key }) => sameSession(state, key, archived.key));
  const shown = isBack ? { ...state.shown, archived: undefined } : state.shown;
  return { ...state, sessions: rows, catalog, exchanges, shown };
}
