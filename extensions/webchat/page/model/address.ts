const TOKEN = "openclaw.token";
/** Set while the page tries a token from an address; it remains set when the gateway refuses that token. */
const TRIED = "openclaw.tried";

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
  return { stored: localStorage.getItem(TOKEN) ?? undefined, fromLink: fromLink === "" ? undefined : fromLink };
}

/** Stores the token for the next visit, in this browser only. */
export function storeToken(token: string): void {
  localStorage.setItem(TOKEN, token);
}

/** Deletes the stored token if it is this one, which the gateway refused. */
export function deleteToken(token: string): void {
  if (localStorage.getItem(TOKEN) === token) localStorage.removeItem(TOKEN);
}

/** Whether this browser tried a token from an address that the gateway has not accepted. */
export const wasTried = (): boolean => localStorage.getItem(TRIED) !== null;

/** Records that a token from an address is being tried, or deletes that record. */
export function setTried(isTried: boolean): void {
  if (isTried) localStorage.setItem(TRIED, "1");
  else localStorage.removeItem(TRIED);
}

/** The session that the address names; the main session when it names none. */
export function sessionFromAddress(): string {
  return new URLSearchParams(location.search).get("session") ?? "main";
}

/** Puts the open session into the address, so that a reload or a bookmark opens it again. */
export function setSessionInAddress(sessionKey: string): void {
  const search = sessionKey === "main" ? "" : `?session=${encodeURIComponent(sessionKey)}`;
  history.replaceState(null, "", location.pathname + search);
}
