const TOKEN = "openclaw.token";
/** Set while a token from an address is tried, and left there when it was refused. */
const TRIED = "openclaw.tried";

/** The token kept from before, and the one that the link brought; the address is left without it. */
export function takeTokens(): { readonly kept: string | undefined; readonly brought: string | undefined } {
  const brought = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  return { kept: localStorage.getItem(TOKEN) ?? undefined, brought: brought === "" ? undefined : brought };
}

/** Keeps the token for the next visit, in this browser only. */
export function keepToken(token: string): void {
  localStorage.setItem(TOKEN, token);
}

/** Forgets a token that the gateway did not accept; another one that is kept stays. */
export function forgetToken(token: string): void {
  if (localStorage.getItem(TOKEN) === token) localStorage.removeItem(TOKEN);
}

/** Whether a token from an address was tried here and has not been accepted. */
export const wasTried = (): boolean => localStorage.getItem(TRIED) !== null;

/** Notes that a token from an address is being tried, or takes the note back once one was accepted. */
export function noteTried(isTried: boolean): void {
  if (isTried) localStorage.setItem(TRIED, "1");
  else localStorage.removeItem(TRIED);
}

/** The session that the address names; the main one when it names none. */
export function addressedSession(): string {
  return new URLSearchParams(location.search).get("session") ?? "main";
}

/** Puts the open session into the address, so that a reload or a bookmark comes back to it. */
export function addressSession(sessionKey: string): void {
  const search = sessionKey === "main" ? "" : `?session=${encodeURIComponent(sessionKey)}`;
  history.replaceState(null, "", location.pathname + search);
}
