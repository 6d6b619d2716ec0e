const TOKEN = "openclaw.token";

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

/** Forgets a token that the gateway did not accept. */
export function forgetToken(): void {
  localStorage.removeItem(TOKEN);
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
