import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename, join, relative } from "node:path";
import { readRows } from "../../../sessions/rows/read-rows.ts";
import { setAside, stamp } from "../../../sessions/transcript/archive.ts";
import { fileOf } from "../../../sessions/rows/row.ts";
import { writeAtomic } from "../../../store/disk.ts";
import type { SessionKey } from "../../../types/ids.ts";
import type { SessionEntry } from "../../../types/session.ts";
import { isMissing } from "../../../utils/missing.ts";
import { isInside } from "../../../utils/real-path.ts";
import { journalPath } from "../../config/paths.ts";
import { valueAt } from "../../config/schema/problem.ts";
import { readTargetValue } from "../frame/target.ts";
import type { ImportKind, Item, KindPlan, Left, OpenTarget, Target } from "../frame/kind.ts";
import { receiptName, type ItemOutcome, type ItemReceipt } from "../frame/receipts.ts";
import type { ImportSource } from "../frame/source.ts";
import { placeHere } from "./config.ts";
import { type SourceConversation, conversationsOf } from "./conversations.ts";
import { MediaCopies } from "./media.ts";
import { keyHere, type SourceKeyRules, rowHere } from "./session-rows.ts";
import { type Lines, TranscriptCopy } from "./transcripts.ts";

const KIND = "sessions";

/**
 * Conversations: the row of each chat with its choices, its transcript, and the media files that it names; earlier conversations of a chat as
 * archives. Ids stay.
 */
export const sessionsKind: ImportKind = {
  id: KIND,
  title: "Conversations",
  atOnce: 2,
  async plan(from, to): Promise<KindPlan> {
    const left: Left[] = [...elsewhere(from)];
    const all: SourceConversation[] = [];
    for (const agent of from.agents) {
      const { found, left: stays } = await conversationsOf(agent, from);
      all.push(...found);
      left.push(...stays);
    }
    const taking = await Taking.of(from, to);
    return { items: chosen(all, taking, left).map((one) => taking.itemOf(one)), left };
  },
};

/** Conversations that the source's config keeps outside of the state directory. */
function elsewhere({ value, dir }: ImportSource): readonly Left[] {
  const store = valueAt(value, ["session", "store"]);
  if (typeof store !== "string" || store.startsWith(dir) || /^~\/\.(?:openclaw|moltbot|clawdbot)\//.test(store))
    return [];
  return [{ name: store, why: "session.store names a place outside of the state directory, which is not read" }];
}

/** A conversation with its place here. */
interface Placed {
  readonly conversation: SourceConversation;
  /** Its chat; undefined when nobody knows it. */
  readonly key: SessionKey | undefined;
  /** Whether it is the present conversation of its chat. */
  readonly isCurrent: boolean;
}

/**
 * Several keys of OpenClaw may mean one chat here. The chat continues with the conversation that was used last; the others become earlier
 * conversations of the chat.
 */
function chosen(all: readonly SourceConversation[], taking: Taking, left: Left[]): readonly Placed[] {
  const chats = new Set<string>();
  const transcripts = new Map<string, SourceConversation>();
  const placed: Placed[] = [];
  for (const conversation of all.toSorted((one, other) => other.updatedAt - one.updatedAt)) {
    const { key: text, state, sessionId, agent, lines } = conversation;
    const key = text === undefined ? undefined : taking.keyOf(conversation, text);
    const twin = state === "current" && lines ? transcripts.get(`${agent}/${sessionId}`) : undefined;
    if (twin) {
      left.push({ name: text ?? sessionId, why: `it has the transcript of ${twin.key}` });
      continue;
    }
    if (state === "current") transcripts.set(`${agent}/${sessionId}`, conversation);
    const isCurrent = state === "current" && key !== undefined && !chats.has(key);
    if (isCurrent) chats.add(key);
    if (isCurrent || lines) placed.push({ conversation, key, isCurrent });
  }
  return placed;
}

/** The import of conversations into one target. */
class Taking {
  readonly #from: ImportSource;
  readonly #to: Target;
  readonly #media: MediaCopies;
  readonly #rows: Map<SessionKey, SessionEntry>;
  readonly #isShared: boolean;

  private constructor(
    from: ImportSource,
    to: Target,
    found: { media: MediaCopies; rows: Map<SessionKey, SessionEntry>; isShared: boolean },
  ) {
    this.#from = from;
    this.#to = to;
    this.#media = found.media;
    this.#rows = found.rows;
    this.#isShared = found.isShared;
  }

  static async of(from: ImportSource, to: Target): Promise<Taking> {
    const { paths, defaultAgent } = to;
    const rows = await readRows({ dir: paths.sessionsDir, journal: journalPath(paths) }, defaultAgent);
    const value = await readTargetValue(from, to.load);
    const session = valueAt(value, ["session", "dmScope"]);
    const isShared = valueAt(value, ["session", "scope"]) === "global" || session === "main";
    return new Taking(from, to, { media: await MediaCopies.of(from.dir, paths.media), rows: new Map(rows), isShared });
  }

  keyOf({ agent, row }: SourceConversation, text: string): SessionKey {
    return keyHere(text, row, this.#rulesFor(agent));
  }

  itemOf(placed: Placed): Item {
    const { conversation } = placed;
    return {
      id: conversation.id,
      name: conversation.key ?? conversation.id,
      version: conversation.version,
      ...leftOf(placed),
      take: (to, before) => this.#take(placed, to, before),
    };
  }

  #rulesFor(agent: string): SourceKeyRules {
    const mainKey = valueAt(this.#from.value, ["session", "mainKey"]);
    return {
      agent,
      defaultAgent: this.#to.defaultAgent,
      isShared: this.#isShared,
      mainKey: typeof mainKey === "string" ? mainKey : "main",
    };
  }

  async #take(placed: Placed, to: OpenTarget, before: ItemReceipt | undefined): Promise<ItemOutcome> {
    const { conversation, key } = placed;
    const there = key === undefined || !placed.isCurrent ? undefined : this.#rows.get(key);
    const isOther = there !== undefined && there.sessionId !== conversation.sessionId;
    const isOwn = isOther && !(await this.#isImported(conversation.agent, there));
    const chat = placed.isCurrent && !isOwn ? key : undefined;
    const file = chat === undefined ? archiveName(conversation) : `${basename(conversation.sessionId)}.jsonl`;
    const notes = isOwn ? ["its chat has a conversation here already; this one is an earlier one of the chat"] : [];
    const written = conversation.lines ? await this.#write(placed, file, before) : NOTHING_WRITTEN;
    if (written.left !== undefined) return { left: written.left };
    if (chat !== undefined)
      notes.push(...(await this.#putRow(placed, { to, key: chat, file, hasGuests: written.hasGuests })));
    if (isOther && !isOwn) await setAside(fileOf(there, this.#to.paths.sessionsDir), "reset", there.updatedAt);
    return {
      made: join("sessions", file),
      ...(written.mark !== "" && { mark: written.mark }),
      notes: [...notes, ...written.notes],
    };
  }

  /** Whether a row and its transcript are as an earlier import made them: the chat went on in the source. */
  async #isImported(agent: string, { sessionId, sessionFile = "" }: SessionEntry): Promise<boolean> {
    const receipt = this.#to.receipts.get(receiptName({ kind: KIND, id: `${agent}/${sessionId}` }));
    return (
      receipt?.mark !== undefined && receipt.mark === (await hashOf(join(this.#to.paths.sessionsDir, sessionFile)))
    );
  }

  /** Writes the transcript unless there is one that has gone on here. */
  async #write({ conversation, key }: Placed, file: string, before: ItemReceipt | undefined): Promise<Written> {
    const { sessionsDir, stateDir } = this.#to.paths;
    const path = join(sessionsDir, file);
    const named = new Set<string>();
    const missing = new Set<string>();
    const copy = new TranscriptCopy({
      sessionId: conversation.sessionId,
      key,
      at: new Date(conversation.updatedAt).toISOString(),
      cwdHere: (cwd) => {
        const place = cwd === "" ? join(stateDir, "workspace") : placeHere(cwd, this.#from, this.#to);
        return isInside(place, stateDir) ? relative(sessionsDir, place) : place;
      },
      withMedia: (line) => this.#media.here(line, (name, isThere) => void (isThere ? named : missing).add(name)),
    });
    const hash = createHash("sha256");
    let left: string | undefined;
    await writeAtomic(path, hashed(copy.pieces(conversation.lines?.() ?? NO_LINES), hash), async () => {
      const mark = await hashOf(path);
      if (mark !== undefined && mark !== before?.mark && mark !== hash.copy().digest("hex"))
        left = before ? "the conversation has gone on here since" : `another conversation is in ${file} here`;
      if (left !== undefined) return false;
      for (const name of named) if (!(await this.#media.copy(name))) missing.add(name);
      return mark !== hash.copy().digest("hex");
    });
    const mark = hash.digest("hex");
    const gone =
      missing.size === 0 ? [] : [`${missing.size} media files that it names are not in the source, or cannot be read`];
    return { mark, hasGuests: copy.hasGuests, notes: [...copy.notes, ...gone], ...(left !== undefined && { left }) };
  }

  /** Settings that were changed here since an earlier import stay. */
  async #putRow({ conversation }: Placed, { to, key, file, hasGuests }: RowPlace): Promise<readonly string[]> {
    const { sessionId, updatedAt, agent, row: given, key: text = key } = conversation;
    const { row, notes } = rowHere(text, given, { sessionId, updatedAt, sessionFile: file }, this.#rulesFor(agent));
    const guests = hasGuests ? { heardGuests: true } : {};
    const known = this.#rows.get(key);
    const there = known?.sessionId === sessionId ? known : undefined;
    const whole = { ...row, ...guests, ...there, updatedAt: Math.max(updatedAt, there?.updatedAt ?? 0) };
    await to.journal.sessions.write([[key, whole]]);
    this.#rows.set(key, whole);
    return notes;
  }
}

interface RowPlace {
  readonly to: OpenTarget;
  readonly key: SessionKey;
  readonly file: string;
  readonly hasGuests: boolean;
}

const NO_LINES: Lines = { async *[Symbol.asyncIterator]() {} };

/** Bytes of a file's name that every file system takes, without the ending of a file that is being written. */
const MOST_NAME = 255 - ".0123456789ab.tmp".length;

/** Why a conversation stays behind, where its reading has shown it, or its id can be no name of a file. */
function leftOf({ conversation }: Placed): { left?: string } {
  const { fault, sessionId } = conversation;
  if (fault !== undefined) return { left: fault };
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(sessionId)) return { left: "its id has control characters" };
  const isLong = Buffer.byteLength(archiveName({ ...conversation, state: "deleted" })) > MOST_NAME;
  return isLong ? { left: "its id is too long for the name of a file" } : {};
}

const NOTHING_WRITTEN: Written = { mark: "", hasGuests: false, notes: ["it has no transcript"] };

interface Written {
  readonly left?: string;
  readonly mark: string;
  readonly hasGuests: boolean;
  readonly notes: readonly string[];
}

/** The name that the same conversation has as an archive, on every run. */
const archiveName = ({ sessionId, state, updatedAt }: SourceConversation): string =>
  `${basename(sessionId)}.jsonl.${state === "deleted" ? "deleted" : "reset"}.${stamp(updatedAt)}`;

async function* hashed(pieces: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

/** Undefined when there is no file. */
async function hashOf(path: string): Promise<string | undefined> {
  const hash = createHash("sha256");
  try {
    for await (const block of createReadStream(path)) hash.update(block);
    return hash.digest("hex");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
