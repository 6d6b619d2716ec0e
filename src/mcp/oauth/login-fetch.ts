type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** An answer to a renewal. */
export interface RenewalAnswer {
  readonly status: number;
  readonly headers: [string, string][];
  readonly text: string;
}

/** Renews the login with a token, or gives the tokens that another process has got with it meanwhile. */
type Renew = (token: string, ask: () => Promise<RenewalAnswer>) => Promise<RenewalAnswer>;

/** Milliseconds for which the answer to a renewal counts. */
const SHARED_MS = 30_000;

/**
 * The same `fetch` for a server with a login. Headers of the config go to the server alone, never to the server of its logins. Calls that
 * renew the same login at the same moment share one renewal: many servers take each token for renewals once. `renew` does the same among
 * processes.
 */
export function fetchWithLogin(
  fetch: Fetch,
  server: URL,
  headers: readonly string[],
  renew: Renew = (_token, ask) => ask(),
): Fetch {
  const renewals = new Map<string, Promise<RenewalAnswer>>();
  return async (url, init = {}) => {
    const isServer = new URL(url).origin === server.origin;
    const own = isServer ? init : { ...init, headers: without(headers, init.headers) };
    const token = renewedIn(init.body);
    if (token === undefined) return fetch(url, own);
    const shared = renewals.get(token) ?? renew(token, () => answerOf(fetch(url, own)));
    if (!renewals.has(token)) {
      renewals.set(token, shared);
      // A renewal without an answer may be tried again at once.
      shared.catch(() => renewals.delete(token));
      setTimeout(() => renewals.delete(token), SHARED_MS).unref();
    }
    const { status, headers: given, text } = await shared;
    return new Response(text, { status, headers: given });
  };
}

async function answerOf(asked: Promise<Response>): Promise<RenewalAnswer> {
  const answer = await asked;
  return { status: answer.status, headers: [...answer.headers], text: await answer.text() };
}

/** The token with which a request renews a login. */
function renewedIn(body: unknown): string | undefined {
  const form = body instanceof URLSearchParams ? body : undefined;
  return form?.get("grant_type") === "refresh_token" ? (form.get("refresh_token") ?? undefined) : undefined;
}

function without(names: readonly string[], headers: RequestInit["headers"]): Headers {
  const kept = new Headers(headers);
  for (const name of names) kept.delete(name);
  return kept;
}
