import { stat } from "node:fs/promises";
import { setMode } from "../../store/disk.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import { OpenClawError } from "../../types/errors.ts";
import { unlessMissing } from "../../utils/missing.ts";
import type { AuthConfig } from "../config.ts";
import { refusedKeys } from "./cooldowns.ts";
import { readCooldowns } from "./cooldowns-file.ts";
import { expiryOf, fitsMode, type Credential } from "./credential.ts";
import { Credentials, type StoredKeys } from "./credentials.ts";
import { own } from "../../utils/own.ts";

/** Epoch milliseconds: a token that expires within three days is reported in time. */
const SOON_MS = 3 * 24 * 3_600_000;

interface Place {
  /** `credentials/` of the state directory. */
  readonly dir: string;
  /** Directories of keys that only one agent uses; none when unset. */
  readonly ownDirs?: readonly string[];
  readonly auth: AuthConfig;
  /** The file where the gateway keeps the cooldowns of keys. */
  readonly cooldowns: string;
  readonly now?: () => number;
}

/**
 * Checks the stored keys: only their owner can read the files, they can be parsed, no token has expired, and no provider has refused one
 * lately.
 */
export function keyChecks({ dir, ownDirs = [], auth, cooldowns, now = Date.now }: Place): readonly Check[] {
  // `auth.order` says nothing of keys that only one agent uses.
  const ofAgents = ownDirs.map((path) => ({ credentials: new Credentials(path), auth: { ...auth, order: {} } }));
  const places = [{ credentials: new Credentials(dir), auth }, ...ofAgents];
  return [
    { id: "providers.credentials", title: "Stored keys", run: () => checkFiles(places) },
    {
      id: "providers.expiry",
      title: "Stored keys in time",
      run: async () => worst(await Promise.all(places.map((place) => checkExpiry(place.credentials, now())))),
    },
    {
      id: "providers.refused",
      title: "Keys that are taken",
      run: async () => {
        const refused = refusedKeys(await readCooldowns(cooldowns), now());
        return refused.length > 0
          ? refused.map((text) => warn(`${text}.`, "Correct the key, or the account of its provider."))
          : [{ status: "ok", message: "No key was refused lately." }];
      },
    },
  ];
}

interface KeyPlace {
  readonly credentials: Credentials;
  readonly auth: AuthConfig;
}

async function checkFiles(places: readonly KeyPlace[]): Promise<readonly CheckResult[]> {
  const found = (await Promise.all(places.map(checkFile))).flat();
  if (found.length > 0) return found;
  const read = await Promise.all(places.map(({ credentials }) => credentials.read()));
  const count = read.reduce((sum, { profiles }) => sum + profiles.size, 0);
  return [{ status: "ok", message: count === 0 ? "No stored keys." : `${count} stored keys.` }];
}

/** The results that are not all right; those of the first file when all are. */
function worst(results: readonly (readonly CheckResult[])[]): readonly CheckResult[] {
  const bad = results.flat().filter(({ status }) => status !== "ok");
  return bad.length > 0 ? bad : (results[0] ?? []);
}

async function checkFile({ credentials, auth }: KeyPlace): Promise<readonly CheckResult[]> {
  const keys = await readOr(credentials);
  if ("status" in keys) return [keys];
  return [...(await checkMode(credentials.path)), ...strange(keys, auth)];
}

async function readOr(credentials: Credentials): Promise<StoredKeys | CheckResult> {
  try {
    return await credentials.read();
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    return { status: "fail", message: error.message, fix: error.fix };
  }
}

async function checkMode(path: string): Promise<readonly CheckResult[]> {
  if (process.platform === "win32") return [];
  const mode = (await unlessMissing(stat(path)))?.mode ?? 0;
  if ((mode & 0o077) === 0) return [];
  return [
    {
      status: "fail",
      message: `Others on this machine can read the keys in ${path}.`,
      fix: `Run: chmod 600 ${path}`,
      repair: { describe: `chmod 600 ${path}`, apply: () => setMode(path, 0o600) },
    },
  ];
}

function strange({ profiles, odd, order }: StoredKeys, auth: AuthConfig): readonly CheckResult[] {
  const unread = odd.map((id) => warn(`The stored key "${id}" is of no known form and is not used.`, logout(id)));
  const unfit = [...profiles].filter(([id, credential]) => !isAsDeclared(credential, own(auth.profiles, id)));
  const named = Object.entries({ ...order, ...auth.order }).flatMap(([, ids]) => ids);
  const absent = [...new Set(named)].filter((id) => !profiles.has(id));
  return [
    ...unread,
    ...unfit.map(([id, { type }]) =>
      warn(
        `The stored key "${id}" is a ${type}, auth.profiles says otherwise: it is not used.`,
        "Correct auth.profiles.",
      ),
    ),
    ...absent.map((id) => warn(`An order names "${id}", which is not stored.`, "Correct auth.order, or log in.")),
  ];
}

const warn = (message: string, fix: string): CheckResult => ({ status: "warn", message, fix });

const logout = (id: string): string => `Log in again, or run: openclaw models auth logout ${id}`;

const isAsDeclared = (credential: Credential, declared: AuthConfig["profiles"][string] | undefined): boolean =>
  declared === undefined || (declared.provider === credential.provider && fitsMode(credential, declared.mode));

async function checkExpiry(credentials: Credentials, now: number): Promise<readonly CheckResult[]> {
  const keys = await readOr(credentials);
  if ("status" in keys) return [{ status: "skip", message: "The file cannot be read." }];
  const found = [...keys.profiles].flatMap(([id, credential]) => ending(id, credential, now) ?? []);
  return found.length > 0 ? found : [{ status: "ok", message: "No token has expired." }];
}

/** The expiry of tokens. Logins are renewed without a person. */
function ending(id: string, credential: Credential, now: number): CheckResult | undefined {
  const expires = credential.type === "token" ? expiryOf(credential) : undefined;
  if (expires === undefined || expires - now > SOON_MS) return undefined;
  const day = new Date(expires).toISOString().slice(0, 10);
  const fix = `Make a new one and run: openclaw models auth paste-token --profile-id ${id}`;
  if (expires <= now) return { status: "fail", message: `The token "${id}" expired on ${day}.`, fix };
  return warn(`The token "${id}" ends on ${day}.`, fix);
}
