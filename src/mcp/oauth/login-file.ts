import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { makePrivateDir, writeAtomic } from "../../store/disk.ts";
import { lockFile } from "../../store/lock/lock-file.ts";
import { Secret } from "../../types/secret.ts";
import { isMissing } from "../../utils/missing.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** An answer to a renewal. */
interface RenewalAnswer {
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

const tokens = z.looseObject({
  access_token: z.string().min(1),
  token_type: z.string(),
  refresh_token: z.string().optional(),
  expires_in: z.number().optional(),
  scope: z.string().optional(),
});
const client = z.looseObject({
  client_id: z.string().min(1),
  client_secret: z.string().optional(),
  redirect_uris: z.array(z.string()).optional(),
});
const login = z.object({
  server: z.string(),
  url: z.string(),
  /** How the server of the logins knows this gateway. */
  client: client.optional(),
  tokens: tokens.optional(),
});

export type Login = Pick<z.output<typeof login>, "client" | "tokens">;

/** Where a login is kept. */
export interface LoginStore {
  read(): Promise<Login>;
  write(login: Login): Promise<void>;
}

/**
 * The login at one MCP server: `credentials/mcp/<name>-<hash>.json`, mode 0600. It is for one address: a server of the same name at another
 * address has none.
 */
export class LoginFile implements LoginStore {
  readonly path: string;
  readonly #dir: string;
  readonly #server: string;
  readonly #url: string;

  constructor(stateDir: string, server: string, url: string) {
    const hash = createHash("sha256").update(`${server}\n${url}`).digest("hex").slice(0, 16);
    this.#dir = join(stateDir, "credentials", "mcp");
    this.path = join(this.#dir, `${server.replaceAll(/[^A-Za-z0-9_-]/g, "-").slice(0, 40)}-${hash}.json`);
    this.#server = server;
    this.#url = url;
  }

  /**
   * Reads the login; empty when nobody has logged in. The login's secrets are known to the process from then on.
   * Rejects when the file cannot be read.
   */
  async read(): Promise<Login> {
    const text = await readFile(this.path, "utf8").catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (text === undefined) return {};
    const read = login.safeParse(parsed(text));
    if (!read.success) throw new Error(`${this.path} cannot be read: run openclaw mcp login ${this.#server} again`);
    remember(read.data);
    return read.data;
  }

  async write({ client: known, tokens: given }: Login): Promise<void> {
    await makePrivateDir(this.#dir);
    const content = { server: this.#server, url: this.#url, client: known, tokens: given };
    remember(content);
    await writeAtomic(this.path, `${JSON.stringify(content, undefined, 2)}\n`);
  }

  /**
   * Renews the login, while no other process does: each token for renewals may count once. Gives the tokens that
   * another process has got meanwhile, without asking. Rejects when the file cannot be locked.
   */
  async renew(token: string, ask: () => Promise<RenewalAnswer>): Promise<RenewalAnswer> {
    const release = await lockFile(this.path);
    try {
      const { client: known, tokens: had } = await this.read();
      if (had?.refresh_token !== undefined && had.refresh_token !== token) return answerWith(had);
      const answer = await ask();
      const given = answer.status < 300 ? tokens.safeParse(parsed(answer.text)).data : undefined;
      // The write comes before the lock is released, because the next process reads the file.
      if (had && given) await this.write({ client: known, tokens: { refresh_token: token, ...given } });
      return answer;
    } finally {
      await release();
    }
  }

  /** False when there was none. */
  async remove(): Promise<boolean> {
    const { tokens: had } = await this.read().catch(() => ({ tokens: true }));
    await rm(this.path, { force: true });
    return had !== undefined;
  }
}

const answerWith = (given: z.output<typeof tokens>): RenewalAnswer => ({
  status: 200,
  headers: [["content-type", "application/json"]],
  text: JSON.stringify(given),
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Makes the tokens known as secrets, so that no log and no error shows them. */
function remember({ client: known, tokens: given }: Login): void {
  for (const value of [given?.access_token, given?.refresh_token, known?.client_secret])
    if (value !== undefined) Secret.remember(value);
}
