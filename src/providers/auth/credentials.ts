import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { makePrivateDir, writeAtomic } from "../../store/disk.ts";
import { stampOf } from "../../store/file-stamp.ts";
import { OpenClawError } from "../../types/errors.ts";
import { KeyedQueue } from "../../utils/keyed-queue.ts";
import { errorCode } from "../../utils/missing.ts";
import { shareCalls } from "../../utils/share-calls.ts";
import { readCredential, writeCredential, type Credential, type LoginCredential } from "./credential.ts";
import { lockFile } from "../../store/lock/lock-file.ts";

/** The content of the credentials file. */
export interface StoredKeys {
  readonly profiles: ReadonlyMap<string, Credential>;
  /** Profile ids by provider, as a person ordered them. */
  readonly order: Readonly<Record<string, readonly string[]>>;
  /** Ids of profiles that cannot be parsed. They stay in the file. */
  readonly odd: readonly string[];
}

/** Name of the file in the directory of the keys. */
export const CREDENTIALS_FILE = "auth-profiles.json";
export const NO_KEYS: StoredKeys = { profiles: new Map(), order: {}, odd: [] };

const shape = z.looseObject({
  version: z.number().optional(),
  profiles: z.record(z.string(), z.unknown()).default({}),
  order: z.record(z.string(), z.array(z.string())).optional(),
});
type Content = z.output<typeof shape>;

/**
 * `auth-profiles.json` of a directory in the usual shape of such files, mode 0600: of `credentials/`, or of an agent's
 * own directory. The CLI and the gateway both write the file. Each change is made under a lock to the content that the
 * file then has, and unknown fields are kept. A reader compares the file's identity, so it sees each change at once,
 * also changes by other programs. A broken file is never overwritten: all methods but `path` then throw `OpenClawError`
 * MODEL_KEY_MISSING.
 */
export class Credentials {
  readonly path: string;
  readonly #dir: string;
  readonly #queue = new KeyedQueue();
  readonly #shared = shareCalls<StoredKeys>();
  #seen: { readonly stamp: string; readonly keys: StoredKeys } | undefined;

  constructor(dir: string) {
    this.#dir = dir;
    this.path = join(dir, CREDENTIALS_FILE);
  }

  /** Readers of the same version share one reading of it. */
  async read(): Promise<StoredKeys> {
    const stamp = versionOf(this.path);
    if (stamp === undefined) return NO_KEYS;
    if (this.#seen?.stamp === stamp) return this.#seen.keys;
    return this.#shared(stamp, async () => {
      const keys = keysOf(await this.#content());
      this.#seen = { stamp, keys };
      return keys;
    });
  }

  /** Adds or replaces a profile. Fields that a login does not know are kept. */
  put(id: string, credential: Credential): Promise<void> {
    return this.#change((content) => withProfile(content, id, credential));
  }

  /**
   * Replaces a login by its renewed form, unless a person has removed it or logged in anew since `before` was read. Resolves with the
   * profile that the file has now; undefined when it is gone.
   */
  async renew(id: string, before: LoginCredential, renewed: LoginCredential): Promise<Credential | undefined> {
    let now: Credential | undefined;
    await this.#change((content) => {
      const found = readCredential(content.profiles[id]);
      const isSame = found?.type === "oauth" && found.refresh.reveal() === before.refresh.reveal();
      now = isSame ? renewed : found;
      return isSame ? withProfile(content, id, renewed) : content;
    });
    return now;
  }

  /** Removes a profile, also from the orders that name it. False when there is none with that id. */
  async remove(id: string): Promise<boolean> {
    let isThere = false;
    await this.#change((content) => {
      isThere = Object.hasOwn(content.profiles, id);
      const { [id]: _gone, ...profiles } = content.profiles;
      const { order } = content;
      return { ...content, profiles, ...(order && { order: withoutId(order, id) }) };
    });
    return isThere;
  }

  /** The order in which the profiles of a provider are tried; undefined restores the default rule. */
  setOrder(provider: string, ids: readonly string[] | undefined): Promise<void> {
    return this.#change((content) => {
      const { [provider]: _before, ...others } = content.order ?? {};
      return { ...content, order: ids ? { ...others, [provider]: [...ids] } : others };
    });
  }

  /** Runs alone among all processes for this id, because the renewal of a login makes its old refresh token invalid. */
  alone<T>(id: string, task: () => Promise<T>): Promise<T> {
    return this.#locked(`renew-${Buffer.from(id).toString("base64url")}`, task);
  }

  #change(edit: (content: Content) => Content): Promise<void> {
    return this.#locked(CREDENTIALS_FILE, async () => {
      const before = versionOf(this.path) === undefined ? { version: 1, profiles: {} } : await this.#content();
      await writeAtomic(this.path, `${JSON.stringify(edit(before), null, 2)}\n`);
      this.#seen = undefined;
    });
  }

  #locked<T>(name: string, task: () => Promise<T>): Promise<T> {
    return this.#queue.run(name, async () => {
      await makePrivateDir(this.#dir);
      const release = await lockFile(join(this.#dir, name));
      try {
        return await task();
      } finally {
        await release();
      }
    });
  }

  async #content(): Promise<Content> {
    const text = await readFile(this.path, "utf8").catch((error: unknown) => {
      throw broken(this.path, `cannot be read (${errorCode(error) ?? "unknown"})`, error);
    });
    const found = shape.safeParse(parse(text, this.path));
    if (found.success) return found.data;
    const where = found.error.issues[0]?.path.join(".") ?? "";
    throw broken(this.path, `has an unexpected shape${where === "" ? "" : ` at ${where}`}`);
  }
}

/** Does not use the parser's own message, which would quote the file and its keys. */
function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw broken(path, "is no JSON");
  }
}

function broken(path: string, what: string, cause?: unknown): OpenClawError {
  return new OpenClawError("MODEL_KEY_MISSING", {
    message: `${path} ${what}.`,
    fix: `Mend it, or move it out of ${dirname(path)} and log in again; until then nothing writes to it.`,
    ...(cause !== undefined && { cause }),
  });
}

function keysOf(content: Content): StoredKeys {
  const profiles = new Map<string, Credential>();
  const odd: string[] = [];
  for (const [id, value] of Object.entries(content.profiles)) {
    const credential = readCredential(value);
    if (credential) profiles.set(id, credential);
    else odd.push(id);
  }
  return { profiles, order: content.order ?? {}, odd };
}

const withProfile = (content: Content, id: string, credential: Credential): Content => ({
  ...content,
  profiles: { ...content.profiles, [id]: { ...asRecord(content.profiles[id]), ...writeCredential(credential) } },
});

const withoutId = (order: Readonly<Record<string, readonly string[]>>, id: string): Record<string, string[]> =>
  Object.fromEntries(Object.entries(order).map(([provider, ids]) => [provider, ids.filter((other) => other !== id)]));

const asRecord = (value: unknown): object => (typeof value === "object" && value !== null ? value : {});

/** A value that changes with every write, because each write makes a new file. Undefined when there is no file. */
function versionOf(path: string): string | undefined {
  try {
    const stamp = stampOf(path);
    return stamp && `${stamp.mtimeMs} ${stamp.size} ${stamp.ino}`;
  } catch (error) {
    throw broken(path, "cannot be looked at", error);
  }
}
