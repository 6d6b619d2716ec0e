import { existsSync } from "node:fs";
import { homedir } from "node:os";
import type { z } from "zod";
import { resolveAlias } from "../../../../sessions/keys.ts";
import type { RowFilter } from "../../../../store/journal/messages.ts";
import { openJournalToRead, type MessageSource } from "../../../../store/journal/read-only.ts";
import { ofAgent } from "../../../../types/run/agent-filter.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { DEFAULT_AGENT } from "../../../../types/ids.ts";
import { defined } from "../../../../utils/defined.ts";
import { journalPath } from "../../../config/paths.ts";
import { resolveAgents } from "../../../config/settings.ts";
import type { Desk } from "../../../messages/act.ts";
import { type Done, messageAnswers } from "../../../../types/answers/messages.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import type { Io } from "../../io.ts";
import { answerHere, readState } from "../../state.ts";
import { withJournal } from "../../with-journal.ts";

/** Queries about messages: to the gateway, or to the journal when none runs. */
export interface MessageQuery<T> {
  readonly method: string;
  readonly params: object;
  readonly shape: z.ZodType<T>;
  here(journal: MessageSource): Promise<unknown>;
}

/** Throws what the query throws. */
export async function askMessages<T>(io: Io, question: MessageQuery<T>): Promise<T> {
  const state = await readState(io);
  if (hasGateway(io, state)) return callOnce(io, state, question);
  const path = journalPath(state.paths);
  if (!existsSync(path)) return answerHere(question.shape, await question.here(EMPTY), state);
  const journal = await openJournalToRead(path);
  try {
    return answerHere(question.shape, await question.here(journal), state);
  } finally {
    await journal.close();
  }
}

export interface ListAsked {
  readonly channel?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly all?: boolean;
  readonly limit: number;
}

/** The parameters of a list over the protocol, and the same for the journal. */
export async function filtersOf(
  io: Io,
  { channel, session, agent, all, limit }: ListAsked,
): Promise<{ params: object; filter: RowFilter }> {
  const isOpen = all !== true;
  const { config, paths } = await readState(io);
  const [first] = resolveAgents(config, { home: homedir(), stateDir: paths.stateDir });
  const sessionKey = session === undefined || !first ? undefined : resolveAlias(session, first.id);
  return {
    params: {
      limit,
      open: isOpen,
      ...(channel !== undefined && { channel }),
      ...defined({ sessionKey: session, agentId: agent }),
    },
    filter: { channel, sessionKey, isOpen, ...ofAgent(agent, first?.id ?? DEFAULT_AGENT) },
  };
}

/** Changes a row: by the gateway, or in the journal when none runs. Throws what `here` throws. */
export async function actOnRow(
  io: Io,
  method: string,
  given: string,
  here: (desk: Desk, id: number) => Promise<Done>,
): Promise<Done> {
  const id = rowNumber(given);
  const state = await readState(io);
  if (hasGateway(io, state)) return callOnce(io, state, { method, params: { id }, shape: messageAnswers.done });
  const path = journalPath(state.paths);
  if (!existsSync(path)) return here({ journal: NOTHING }, id);
  return withJournal(path, (journal) => here({ journal }, id));
}

/** `12` or `#12`. Throws USAGE for anything else. */
export function rowNumber(given: string): number {
  const digits = /^#?(\d{1,15})$/.exec(given)?.[1];
  if (digits !== undefined && Number(digits) > 0) return Number(digits);
  throw new OpenClawError("USAGE", {
    message: `${given} is no row.`,
    fix: "Rows are numbers, in the first column of `openclaw inbox list` and `openclaw outbox list`.",
  });
}

const none = async () => [];
const nothing = async () => undefined;
const NO_ROWS = {
  inboxRows: none,
  inboxRow: nothing,
  inboxOfMessage: none,
  againOf: none,
  seen: nothing,
  outboxRows: none,
  outboxRow: nothing,
  outboxOfMessage: none,
  outboxOf: none,
};

/** A state directory without messages. */
const EMPTY: MessageSource = {
  messages: NO_ROWS,
  runs: { recent: none, find: nothing, beginningWith: none },
  inbox: { ofRun: none },
  outbox: { ofRun: none },
  texts: { get: nothing },
};

/** The same for changes, which all fail because the row does not exist. */
const NOTHING: Desk["journal"] = {
  messages: { ...NO_ROWS, runAgain: nothing, sendAgain: nothing },
  inbox: {
    accept: none,
    acceptAhead: none,
    claim: none,
    claimAhead: none,
    synced: nothing,
    begin: async () => false,
    withdraw: async () => "ended",
    finish: nothing,
    finishTurn: nothing,
    recordTurn: nothing,
    open: none,
    find: nothing,
    changes: async function* noChanges() {},
    followed: async function* noneFollowed() {},
    ofRun: none,
    runsOf: async () => new Map(),
  },
  outbox: {
    plan: none,
    previewKey: () => "",
    mark: nothing,
    open: none,
    unreportedGaps: none,
    unansweredQuestions: none,
    of: none,
    ofRun: none,
    notePreview: nothing,
    forgetPreview: nothing,
    chatsOf: none,
    previewOf: nothing,
    notePreviewLength: nothing,
    previewLengthOf: async () => 0,
  },
};
