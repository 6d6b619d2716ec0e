import { z } from "zod";
import { agentOf, isMainKey, resolveAlias } from "../../../../sessions/keys.ts";
import { isArchived } from "../../../../sessions/rows/row.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { SessionKey } from "../../../../types/ids.ts";
import { sessionAnswers, type SessionEntry } from "../../../../types/session.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { canAsk, confirmed } from "../../ask.ts";
import { hasGateway } from "../../address.ts";
import { withGateway } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { readStoredSessions } from "./session-files.ts";
import { defaultAgentOf, withSessions } from "./session-store.ts";

interface Json {
  readonly json?: boolean;
}

export interface ChangeFlags extends Json {
  readonly agent?: string;
  readonly dryRun?: boolean;
  /** Nobody is asked. */
  readonly force?: boolean;
}

/** One session of a command that changes several. */
interface Outcome {
  readonly key: string;
  readonly ok: boolean;
  /** `deleted`, `archived`, `renamed`, `would_delete`, `would_archive`, `not_found` or `failed`. */
  readonly status: string;
  readonly error?: string;
  /** Paths of the transcripts that are kept. */
  readonly archived?: readonly string[];
}

/** What a command does to a session: through the gateway, or in the sessions that this process owns. */
interface Doer {
  find(key: SessionKey): Promise<Readonly<SessionEntry> | undefined>;
  delete(key: SessionKey): Promise<readonly string[]>;
  patch(key: SessionKey, patch: { archived: true } | { label: string | null }): Promise<void>;
}

/** Deletes sessions; their transcripts stay under another name. Throws USAGE if nobody confirms. */
export async function sessionsDelete(io: Io, keys: readonly string[], flags: ChangeFlags): Promise<number> {
  const state = await requireState(io);
  if (flags.force !== true && flags.dryRun !== true && !(await isSure(io, keys, flags))) return 1;
  return report(io, "delete", flags, () =>
    each({ io, state, keys, flags }, async (key, { delete: remove }) => {
      if (isMainKey(key)) return failed("it is the main session of its agent; /new begins it anew");
      if (flags.dryRun === true) return { ok: true, status: "would_delete" };
      return { ok: true, status: "deleted", archived: await remove(key) };
    }),
  );
}

async function isSure(io: Io, keys: readonly string[], { json }: ChangeFlags): Promise<boolean> {
  if (json === true || !canAsk(io))
    throw new OpenClawError("USAGE", { message: "Nobody confirms that the sessions are deleted.", fix: "Add --yes." });
  return confirmed(`Delete ${keys.length === 1 ? keys[0] : `${keys.length} sessions`}?`);
}

/** Puts sessions into the archive: lists leave them out until a message comes. */
export async function sessionsArchive(io: Io, keys: readonly string[], flags: ChangeFlags): Promise<number> {
  const state = await requireState(io);
  return report(io, "archive", flags, () =>
    each({ io, state, keys, flags }, async (key, { patch }, entry) => {
      if (isArchived(entry)) return { ok: true, status: "archived" };
      if (flags.dryRun === true) return { ok: true, status: "would_archive" };
      await patch(key, { archived: true });
      return { ok: true, status: "archived" };
    }),
  );
}

/** Gives a session a name; an empty one removes it. */
export async function sessionsRename(io: Io, key: string, name: string, flags: ChangeFlags): Promise<number> {
  const state = await requireState(io);
  const label = name.trim() === "" ? null : name.trim();
  return report(io, "rename", flags, () =>
    each({ io, state, keys: [key], flags }, async (found, { patch }) => {
      await patch(found, { label });
      return { ok: true, status: "renamed" };
    }),
  );
}

const failed = (error: string): Omit<Outcome, "key"> => ({ ok: false, status: "failed", error });

async function report(
  io: Io,
  operation: string,
  { dryRun = false, json }: ChangeFlags,
  work: () => Promise<readonly Outcome[]>,
): Promise<number> {
  const results = await work();
  const ok = results.every((one) => one.ok);
  if (json === true) writeJson(io, { ok, operation, dryRun, results });
  else
    for (const { key, status, error, archived = [] } of results) {
      const line = `${key}: ${status.replace("_", " ")}${error === undefined ? "" : `: ${error}`}`;
      io[error === undefined ? "out" : "err"](`${withoutTerminalControls(line)}\n`);
      for (const path of archived) io.out(`  kept as ${path}\n`);
    }
  return ok ? 0 : 1;
}

type Act = (key: SessionKey, doer: Doer, entry: Readonly<SessionEntry>) => Promise<Omit<Outcome, "key">>;

interface Asked {
  readonly io: Io;
  readonly state: State;
  readonly keys: readonly string[];
  readonly flags: ChangeFlags;
}

/** Does something to each session; a failure with one does not stop the others. */
async function each({ io, state, keys, flags }: Asked, act: Act): Promise<readonly Outcome[]> {
  return withDoer(io, state, flags, async (doer) => {
    const outcomes: Outcome[] = [];
    for (const text of new Set(keys)) {
      const one = await outcomeOf(text, { state, flags, doer, act }).catch((error: unknown) =>
        failed(errorText(error)),
      );
      outcomes.push({ key: text, ...one });
    }
    return outcomes;
  });
}

async function outcomeOf(
  text: string,
  { state, flags, doer, act }: { state: State; flags: ChangeFlags; doer: Doer; act: Act },
): Promise<Omit<Outcome, "key">> {
  const defaultAgent = defaultAgentOf(state);
  const key = resolveAlias(text, defaultAgent);
  const agent = agentOf(key, defaultAgent);
  if (flags.agent !== undefined && flags.agent !== agent) return failed(`it belongs to the agent ${agent}`);
  const entry = await doer.find(key);
  if (entry) return act(key, doer, entry);
  return { ok: false, status: "not_found", error: "There is no such session; openclaw sessions names them." };
}

const anything = z.looseObject({});

function withDoer<T>(io: Io, state: State, flags: ChangeFlags, work: (doer: Doer) => Promise<T>): Promise<T> {
  if (hasGateway(io, state))
    return withGateway(io, state, (client) =>
      work({
        async find(key) {
          const { session } = await client.call("sessions.describe", { key }, sessionAnswers.describe);
          if (!session) return undefined;
          const { sessionId = "", updatedAt, archived } = session;
          return { sessionId, updatedAt, ...(archived === true && { archivedAt: updatedAt }) };
        },
        delete: async (key) => (await client.call("sessions.delete", { key }, sessionAnswers.delete)).archived,
        patch: async (key, patch) => void (await client.call("sessions.patch", { key, ...patch }, anything)),
      }),
    );
  if (flags.dryRun === true) return withRows(state, work);
  return withSessions(state, ({ sessions }) =>
    work({
      find: async (key) => sessions.peek(key),
      async delete(key) {
        const removed = await sessions.remove(key);
        return removed?.archived === undefined ? [] : [removed.archived];
      },
      async patch(key, patch) {
        const change =
          "label" in patch ? { label: patch.label ?? undefined } : { archivedAt: Date.now(), archiveReason: "manual" };
        await sessions.patch(key, change, { now: true });
      },
    }),
  );
}

/** A look needs no lock, and changes nothing. */
async function withRows<T>(state: State, work: (doer: Doer) => Promise<T>): Promise<T> {
  const stored = new Map((await readStoredSessions(state)).map(({ key, entry }) => [key, entry]));
  const refuse = () => Promise.reject(new Error("a dry run changes nothing"));
  return work({ find: async (key) => stored.get(key), delete: refuse, patch: refuse });
}
