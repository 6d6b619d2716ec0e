import { keep, kept } from "../browser/kept.ts";
import { isRecord, stringOr } from "./json.ts";
import { type PageView, VIEWS } from "./state.ts";

/** A key of what is kept for this gateway: another one may be below another path of the host. */
export const ofGateway = (name: string): string => {
  const path = location.pathname.replace(/[^/]*$/, "");
  return path === "/" ? name : `${name} ${path}`;
};

const TOKEN = ofGateway("openclaw.token");
/** Set while the page tries a token from an address; it remains set when the gateway refuses that token. */
const TRIED = ofGateway("openclaw.tried");

/** The tokens that the page knows. */
export interface Tokens {
  /** The token that this browser stored at an earlier visit. */
  readonly stored: string | undefined;
  /** The token in the fragment of the page's address. */
  readonly fromLink: string | undefined;
}

/** Reads both tokens, and removes the fragment from the address. */
export function takeTokens(): Tokens {
  const fromLink = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  return { stored: kept(TOKEN), fromLink: fromLink === "" ? undefined : fromLink };
}

/** Stores the token for the next visit, in this browser only. */
export function storeToken(token: string): void {
  keep(TOKEN, token);
}

/** Deletes the stored token if it is this one, which the gateway refused. */
export function deleteToken(token: string): void {
  if (kept(TOKEN) === token) keep(TOKEN, undefined);
}

/** Whether this browser tried a token from an address that the gateway has not accepted. */
export const wasTried = (): boolean => kept(TRIED) !== undefined;

/** Records that a token from an address is being tried, or deletes that record. */
export function setTried(isTried: boolean): void {
  keep(TRIED, isTried ? "1" : undefined);
}

const NO_STEPS = ofGateway("openclaw.first-steps");

/** Whether the person has hidden the first steps in this browser. */
export const isHidden = (): boolean => kept(NO_STEPS) === "hidden";

/** Records that the person has hidden the first steps. Answers whether the browser keeps that. */
export const hideSteps = (): boolean => keep(NO_STEPS, "hidden");

/** What the address names: a session, the main one by default, and a view in its place. */
export interface PagePlace {
  readonly sessionKey: string;
  readonly view: PageView | undefined;
  /** Key of the config that the view shows. */
  readonly key?: string | undefined;
}

/** The place that a query names, which is that of the page's address unless given. */
export function placeInAddress(query = location.search): PagePlace {
  const named = new URLSearchParams(query);
  return {
    sessionKey: named.get("session") ?? "main",
    view: VIEWS.find((view) => view === named.get("view")),
    key: named.get("key") ?? undefined,
  };
}

/** The address of a place, for a link. */
export function addressOf({ sessionKey, view, key }: PagePlace): string {
  const named = new URLSearchParams();
  if (view !== undefined) named.set("view", view);
  if (view !== undefined && key !== undefined) named.set("key", key);
  if (sessionKey !== "main") named.set("session", sessionKey);
  return named.size === 0 ? location.pathname : `${location.pathname}?${named}`;
}

/** Puts the place into the address, so that a reload, a bookmark or the browser's way back opens it again. */
export function setAddress(place: PagePlace): void {
  const address = addressOf(place);
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
}

const DRAFTS = ofGateway("openclaw.drafts");
/** Conversations and files whose unsent text is kept. */
const MOST = 50;

/** The text that was typed in a conversation, or in another field with a key, of this tab and not sent. */
export const draftOf = (sessionKey: string): string => stringOr(readDrafts()[sessionKey]);

/** Whether a text is kept whose key begins so. */
export const hasDraftWith = (beginning: string): boolean =>
  Object.keys(readDrafts()).some((key) => key.startsWith(beginning));

/** Keeps the text for a reload of this tab; an empty one is forgotten. */
export function keepDraft(sessionKey: string, text: string): void {
  const { [sessionKey]: _before, ...others } = readDrafts();
  const kept = Object.entries(others).slice(1 - MOST);
  const all = text === "" ? kept : [...kept, [sessionKey, text] as const];
  try {
    sessionStorage.setItem(DRAFTS, JSON.stringify(Object.fromEntries(all)));
  } catch {
    // The text is longer than a browser keeps; it is still in the field.
  }
}

/** Where the unsent text is kept: that of a message which is edited does not replace the new one. */
export const draftPlace = (sessionKey: string, editing: { readonly entryId: string } | undefined): string =>
  editing === undefined ? sessionKey : `${sessionKey} ${editing.entryId}`;

function readDrafts(): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(DRAFTS) ?? "{}");
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
