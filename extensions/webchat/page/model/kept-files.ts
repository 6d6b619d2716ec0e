import { fields, isRecord, list, stringOr } from "./json.ts";
import type { PageFile } from "./files.ts";
import { ofGateway } from "./address.ts";
import { t } from "../words/words.ts";

const DATABASE = "openclaw";
const FILES = "files";
const TAB = ofGateway("openclaw.tab");
/** Files of a tab that was closed are forgotten after this time. */
const KEPT_MS = 7 * 24 * 3_600_000;

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

const isPageFile = (value: unknown): value is PageFile =>
  isRecord(value) && ["name", "mimeType", "data"].every((name) => typeof value[name] === "string");

/** Tabs keep the files of one conversation apart, as they keep its text. */
function placeInTab(place: string): string {
  const tab = stringOr(sessionStorage.getItem(TAB)) || crypto.randomUUID();
  sessionStorage.setItem(TAB, tab);
  return `${tab} ${place}`;
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
