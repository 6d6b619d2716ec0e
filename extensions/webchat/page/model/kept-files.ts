import { newId } from "../browser/ids.ts";
import { fields, isRecord, list } from "./json.ts";
import type { PageFile } from "./files.ts";
import { ofGateway } from "./address.ts";
import { t } from "../words/words.ts";

const DATABASE = "openclaw";
const FILES = "files";
const TAB = ofGateway("openclaw.tab");
/** Files of a tab that was closed are forgotten after this time. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** What this tab is called in the database. */
const own = { tab: "" };

/**
 * Makes what is kept that of this tab alone. A browser that duplicates a tab copies its session storage, and so its id: the duplicate
 * gets another id and copies of the files that were not sent. The messages that the gateway does not have stay with the first tab,
 * which sends them. To be called before the functions below. Never rejects.
 */
export async function claimKept(): Promise<void> {
  own.tab = newId();
  try {
    const before = sessionStorage.getItem(TAB);
    const wasLeft = sessionStorage.getItem(IN_USE) === null;
    if (before !== null && (wasLeft || (await isFree(lockOf(before))))) return claimId(before);
    claimId(own.tab);
    if (before === null) return;
    setUnsent([]);
    await copyFiles(before);
  } catch (error) {
    console.warn("the browser keeps nothing for this tab", error);
  }
}

/** Set from when a document has the id until it is left, so that a reload need not wait until the document before it is gone. */
const IN_USE = ofGateway("openclaw.tab-in-use");
const lockOf = (id: string): string => `openclaw.tab ${id}`;

/** Whether no document has the id: the mark is also there after a crash. A browser without locks cannot tell. */
async function isFree(name: string): Promise<boolean> {
  const { held = [] } = (await locks()?.query()) ?? {};
  return held.every((lock) => lock.name !== name);
}

/** Pages without https have none. */
const locks = (): LockManager | undefined => ("locks" in navigator ? navigator.locks : undefined);

function claimId(id: string): void {
  own.tab = id;
  const mark = (): void => sessionStorage.setItem(IN_USE, "1");
  sessionStorage.setItem(TAB, id);
  mark();
  window.addEventListener("pagehide", () => sessionStorage.removeItem(IN_USE));
  window.addEventListener("pageshow", mark);
  // Until the document is gone.
  locks()
    ?.request(lockOf(id), () => new Promise<void>(() => undefined))
    .catch((error: unknown) => console.warn("the tab could not be claimed", error));
}

/** Keeps the unsent files of a conversation for a reload of this tab. Rejects when the browser keeps nothing. */
export async function keepFiles(place: string, files: readonly PageFile[]): Promise<void> {
  await inStore((store) => store.put({ place: placeInTab(place), at: Date.now(), files }));
}

/** Forgets the unsent files of a conversation. */
export async function forgetFiles(place: string): Promise<void> {
  await inStore((store) => store.delete(placeInTab(place)));
}

/** The unsent files of a conversation in this tab. */
export async function keptFiles(place: string): Promise<readonly PageFile[]> {
  const found = await inStore((store) => {
    forgetOld(store);
    return store.get(placeInTab(place));
  });
  return list(fields(found)["files"]).filter(isPageFile);
}

const UNSENT = ofGateway("openclaw.unsent");

/** A message that the gateway does not have yet. */
interface UnsentMessage {
  readonly runId: string;
  readonly sessionKey: string;
  readonly text: string;
  readonly at: number;
  /** How many files it has. */
  readonly files: number;
}

/** Keeps a message and its files for a reload of this tab, until `forgetUnsent`. A browser that keeps nothing loses it. */
export function keepUnsent(message: Omit<UnsentMessage, "files">, files: readonly PageFile[]): void {
  setUnsent([...readUnsent(), { ...message, files: files.length }]);
  if (files.length > 0) keepFiles(placeOf(message.runId), files).catch(unkept);
}

/** Forgets a message that the gateway has, or has refused. */
export function forgetUnsent(runId: string): void {
  const all = readUnsent();
  const message = all.find((one) => one.runId === runId);
  if (message === undefined) return;
  setUnsent(all.filter((one) => one !== message));
  if (message.files > 0) forgetFiles(placeOf(runId)).catch(unkept);
}

/** The messages that the gateway did not have when the page was left. One whose files were not kept in time is not among them. */
export async function keptUnsent(): Promise<
  readonly (Omit<UnsentMessage, "files"> & { files: readonly PageFile[] })[]
> {
  const all = readUnsent();
  const whole = await Promise.all(
    all.map(async (one) => ({
      ...one,
      files: one.files === 0 ? [] : await keptFiles(placeOf(one.runId)).catch(() => []),
    })),
  );
  return whole.filter(({ files }, at) => files.length === all[at]?.files);
}

const OF_UNSENT = "unsent ";
const placeOf = (runId: string): string => OF_UNSENT + runId;
const unkept = (): void => undefined;

function setUnsent(all: readonly UnsentMessage[]): void {
  try {
    sessionStorage.setItem(UNSENT, JSON.stringify(all));
  } catch {
    // The page still has the message until it is left.
  }
}

function readUnsent(): readonly UnsentMessage[] {
  try {
    const all: unknown = JSON.parse(sessionStorage.getItem(UNSENT) ?? "[]");
    return Array.isArray(all) ? all.filter(isUnsent) : [];
  } catch {
    return [];
  }
}

const isUnsent = (value: unknown): value is UnsentMessage =>
  isRecord(value) &&
  ["runId", "sessionKey", "text"].every((name) => typeof value[name] === "string") &&
  ["at", "files"].every((name) => typeof value[name] === "number");

const isPageFile = (value: unknown): value is PageFile =>
  isRecord(value) && ["name", "mimeType", "data"].every((name) => typeof value[name] === "string");

/** Tabs keep the files of one conversation apart, as they keep its text. */
const placeInTab = (place: string): string => `${own.tab} ${place}`;

/** Copies the unsent files of another tab, without those of its messages. */
async function copyFiles(from: string): Promise<void> {
  const beginning = `${from} `;
  await inStore((store) => {
    const all = store.getAll(IDBKeyRange.bound(beginning, `${beginning}\uFFFF`));
    all.addEventListener("success", () => {
      for (const kept of all.result) {
        const place = String(fields(kept)["place"]).slice(beginning.length);
        if (!place.startsWith(OF_UNSENT)) store.put({ ...fields(kept), place: placeInTab(place) });
      }
    });
    return all;
  });
}

async function inStore(act: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const request = indexedDB.open(DATABASE, 1);
  request.addEventListener("upgradeneeded", () => {
    request.result.createObjectStore(FILES, { keyPath: "place" }).createIndex("at", "at");
  });
  const database = await doneOf(request);
  try {
    return await doneOf(act(database.transaction(FILES, "readwrite").objectStore(FILES)));
  } finally {
    // The transaction still ends.
    database.close();
  }
}

function forgetOld(store: IDBObjectStore): void {
  const old = store.index("at").openCursor(IDBKeyRange.upperBound(Date.now() - KEPT_MS));
  old.addEventListener("success", () => {
    old.result?.delete();
    old.result?.continue();
  });
}

const doneOf = <Result>(request: IDBRequest<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error(t("The browser keeps no files."))));
  });
