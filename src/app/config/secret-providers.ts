import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { lstat, open, type FileHandle } from "node:fs/promises";
import { dirname, isAbsolute, relative, sep } from "node:path";
import { expandHome, type Env } from "../../utils/env.ts";
import { errorCode } from "../../utils/missing.ts";
import { READ_NO_FOLLOW, readBytes } from "../../utils/read-regular.ts";
import { isRecord, valueAt } from "./schema/problem.ts";

/** A secret, or the reason why it is not there. The reason never contains what a file or a program said. */
export type Found = { readonly text: string } | { readonly missing: string };

/** A named place of secrets, as `secrets.providers` of the config has it. */
type Provider = Readonly<Record<string, unknown>>;

const TIMEOUT_MS = 5000;
const MOST_BYTES = 1024 * 1024;
const PROTOCOL = 1;
/** The id of the only value of a file in the mode `singleValue`. */
const SINGLE = "value";
const EXEC_ID = /^[A-Za-z0-9][A-Za-z0-9._:/#-]{0,255}$/;
/** Codes of programs that are shown; any other text of a program may be a secret. */
const SHOWN_CODES = new Set(["NOT_FOUND", "AMBIGUOUS_DUPLICATE_KEY"]);

const missing = (reason: string): Found => ({ missing: reason });

/** The secrets of the providers in `secrets.providers`; each file is read once, and each program runs once. */
export class SecretProviders {
  readonly #root: unknown;
  readonly #env: Env;
  /** By provider: the ids that the config refers to. */
  readonly #ids: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #answers = new Map<string, Promise<(id: string) => Found>>();

  constructor(root: unknown, env: Env) {
    this.#root = root;
    this.#env = env;
    this.#ids = idsByProvider(root, (source, provider) => this.nameOf(source, provider));
  }

  /**
   * The name of the provider of a reference: its own, else the default one of the source. Undefined when the config has
   * no such provider, and the id itself says where the secret is.
   */
  nameOf(source: string, provider: string | undefined): string | undefined {
    const chosen = valueAt(this.#root, ["secrets", "defaults", source]);
    const name = provider ?? (typeof chosen === "string" ? chosen : "default");
    return this.#provider(name)?.["source"] === source ? name : undefined;
  }

  /** Never rejects. */
  async read(name: string, id: string): Promise<Found> {
    const answer = this.#answers.get(name) ?? this.#open(name);
    this.#answers.set(name, answer);
    try {
      return (await answer)(id);
    } catch (error) {
      return missing(`the secret provider "${name}" failed: ${reasonOf(error)}`);
    }
  }

  #provider(name: string): Provider | undefined {
    const found = valueAt(this.#root, ["secrets", "providers", name]);
    return isRecord(found) ? found : undefined;
  }

  async #open(name: string): Promise<(id: string) => Found> {
    const provider = this.#provider(name) ?? {};
    if (provider["source"] === "env") return (id) => fromEnv(id, provider, this.#env);
    if (provider["source"] === "file") return openFile(name, provider, this.#env);
    return askProgram(name, provider, { ids: [...(this.#ids.get(name) ?? [])], env: this.#env });
  }
}

/** The ids that references anywhere in the config name, by provider. */
function idsByProvider(
  root: unknown,
  nameOf: (source: string, provider: string | undefined) => string | undefined,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const look = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(look);
    if (!isRecord(value)) return;
    const { source, provider, id } = value;
    const name =
      typeof source === "string" && typeof id === "string"
        ? nameOf(source, typeof provider === "string" ? provider : undefined)
        : undefined;
    if (name !== undefined && typeof id === "string") found.set(name, (found.get(name) ?? new Set()).add(id));
    else Object.values(value).forEach(look);
  };
  look(root);
  return found;
}

function fromEnv(id: string, { allowlist }: Provider, env: Env): Found {
  if (Array.isArray(allowlist) && !allowlist.includes(id))
    return missing(`the environment variable ${id} is not in the allowlist of its secret provider`);
  const text = Object.hasOwn(env, id) ? env[id] : undefined;
  return text ? { text } : missing(`the environment variable ${id} is not set`);
}

async function openFile(name: string, provider: Provider, env: Env): Promise<(id: string) => Found> {
  const { path, mode = "json" } = provider;
  if (typeof path !== "string" || path === "") throw new Error("it has no path");
  const file = await open(expandHome(path, env), READ_NO_FOLLOW).catch((error: unknown) => {
    throw errorCode(error) === "ELOOP" ? new Error(IS_LINK) : error;
  });
  let text: string;
  try {
    text = await privateText(file, countOf(provider["maxBytes"], MOST_BYTES));
  } finally {
    await file.close();
  }
  if (mode === "singleValue") {
    const value = text.replace(/\r?\n$/, "");
    return (id) => {
      if (id !== SINGLE)
        return missing(`the file of the secret provider "${name}" has one value; its id is "${SINGLE}"`);
      return value === "" ? missing(`the file of the secret provider "${name}" is empty`) : { text: value };
    };
  }
  const values = jsonOf(text);
  return (id) => {
    const value = pointedAt(values, id);
    if (value === "not a pointer") return missing(`"${id}" is no JSON pointer; write it as /providers/openai/apiKey`);
    if (typeof value.found !== "string" || value.found === "")
      return missing(`the file of the secret provider "${name}" has no text at ${id}`);
    return { text: value.found };
  };
}

/** The value at a JSON pointer (RFC 6901). */
function pointedAt(root: unknown, pointer: string): { readonly found: unknown } | "not a pointer" {
  if (!pointer.startsWith("/")) return "not a pointer";
  const path = pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return { found: valueAt(root, path) };
}

const IS_LINK = "its file is a link, or no regular file; name the file itself";

/** The text of an open file. Throws when others may read or change it, or it has another name: then others may have put it there. */
async function privateText(file: FileHandle, most: number): Promise<string> {
  const facts = await file.stat();
  if (!facts.isFile()) throw new Error(IS_LINK);
  if (facts.nlink > 1) throw new Error("its file has a second name (hard link); copy it to a new file");
  if (facts.size > most) throw new Error(`its file is larger than ${most} bytes`);
  if (process.platform !== "win32") {
    if (!isOwn(facts.uid)) throw new Error("its file belongs to another user");
    if ((facts.mode & 0o077) !== 0) throw new Error("its file can be read by other users; run chmod 600 on it");
  }
  return (await readBytes(file, facts.size)).toString("utf8");
}

const isOwn = (uid: number): boolean => uid === process.getuid?.();

interface Ask {
  readonly ids: readonly string[];
  readonly env: Env;
}

/** Asks a program for all ids at once: JSON on its standard input, JSON on its standard output. */
async function askProgram(name: string, provider: Provider, { ids, env }: Ask): Promise<(id: string) => Found> {
  const { command, args } = provider;
  if (provider["pluginIntegration"] !== undefined)
    throw new Error("a plugin says how it is asked, and this gateway has no such plugins; give command and args");
  if (typeof command !== "string" || command === "") throw new Error("it has no command");
  const file = expandHome(command, env);
  await requireTrusted(file, provider, env);
  const wanted = ids.filter(isExecId);
  const output = await outputOf(file, textsIn(args), {
    input: JSON.stringify({ protocolVersion: PROTOCOL, provider: name, ids: wanted }),
    env: childEnv(provider, env),
    timeoutMs: countOf(provider["timeoutMs"], TIMEOUT_MS),
    silenceMs: countOf(provider["noOutputTimeoutMs"], countOf(provider["timeoutMs"], TIMEOUT_MS)),
    mostBytes: countOf(provider["maxOutputBytes"], MOST_BYTES),
  });
  const answer = parsedOr(output);
  if (!isRecord(answer)) {
    if (provider["jsonOnly"] !== false || wanted.length !== 1) throw new Error("its program gave no JSON object");
    const text = output.replace(/\r?\n$/, "");
    return (id) => (id === wanted[0] && text !== "" ? { text } : missing(`the secret provider "${name}" has no ${id}`));
  }
  if (answer["protocolVersion"] !== PROTOCOL)
    throw new Error(`its program does not answer with protocolVersion ${PROTOCOL}`);
  return (id) => answered(answer, id, name);
}

function answered(answer: Readonly<Record<string, unknown>>, id: string, name: string): Found {
  if (!isExecId(id)) return missing(`"${id}" is no id that a program is asked for`);
  const value = valueAt(answer, ["values", id]);
  if (typeof value === "string" && value !== "") return { text: value };
  const code = valueAt(answer, ["errors", id, "code"]);
  const why = typeof code === "string" && SHOWN_CODES.has(code) ? `: ${code}` : "";
  return missing(`the secret provider "${name}" has no ${id}${why}`);
}

const isExecId = (id: string): boolean =>
  EXEC_ID.test(id) && !id.split("/").some((part) => part === "." || part === "..");

/** Throws unless the program is a file that only this user or root can change, where the config allows programs. */
async function requireTrusted(file: string, { trustedDirs }: Provider, env: Env): Promise<void> {
  if (!isAbsolute(file)) throw new Error("its command is no absolute path");
  const facts = await lstat(file);
  if (!facts.isFile())
    throw new Error("its command is a link, or no file; name the program itself (realpath shows it)");
  const folders = textsIn(trustedDirs).map((folder) => expandHome(folder, env));
  if (folders.length > 0 && !folders.some((folder) => isBelow(dirname(file), folder)))
    throw new Error("its command lies outside trustedDirs");
  if (process.platform === "win32") return;
  if (!isOwn(facts.uid) && facts.uid !== 0) throw new Error("its command belongs to another user");
  if ((facts.mode & 0o022) !== 0) throw new Error("its command can be changed by other users; run chmod go-w on it");
}

function isBelow(folder: string, root: string): boolean {
  const way = relative(root, folder);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The program gets only the variables that the config names. */
function childEnv({ env: given, passEnv }: Provider, env: Env): Env {
  const passed = textsIn(passEnv).flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const own = isRecord(given)
    ? Object.entries(given).flatMap(([name, value]) => (typeof value === "string" ? [[name, value] as const] : []))
    : [];
  return Object.fromEntries([...passed, ...own]);
}

interface Limits {
  readonly input: string;
  readonly env: Env;
  readonly timeoutMs: number;
  /** The longest time without output. */
  readonly silenceMs: number;
  readonly mostBytes: number;
}

/** Ends a program and its children, and reads nothing more of them. */
function endGroup(child: ChildProcessByStdio<Writable, Readable, null>): void {
  child.stdout.destroy();
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group has ended, or the system has none.
    child.kill("SIGKILL");
  }
}

/** The standard output of a program that ends well within its limits. */
function outputOf(
  file: string,
  args: readonly string[],
  { input, env, timeoutMs, silenceMs, mostBytes }: Limits,
): Promise<string> {
  return new Promise((resolve, reject) => {
    // A group of its own, so that the children of the program end with it.
    const child = spawn(file, [...args], { env, stdio: ["pipe", "pipe", "ignore"], shell: false, detached: true });
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (reason: string) => {
      endGroup(child);
      reject(new Error(reason));
    };
    const whole = setTimeout(() => end(`its program did not end within ${timeoutMs} ms`), timeoutMs);
    let silent = setTimeout(() => end(`its program said nothing for ${silenceMs} ms`), silenceMs);
    const settle = () => {
      clearTimeout(whole);
      clearTimeout(silent);
    };
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > mostBytes) return end(`its program said more than ${mostBytes} bytes`);
      chunks.push(chunk);
      clearTimeout(silent);
      silent = setTimeout(() => end(`its program said nothing for ${silenceMs} ms`), silenceMs);
    });
    child.on("error", (error) => {
      settle();
      reject(error);
    });
    child.on("close", (code, signal) => {
      settle();
      if (code === 0) resolve(Buffer.concat(chunks).toString("utf8"));
      else reject(new Error(`its program ended with ${code === null ? signal : `exit code ${code}`}`));
    });
    // A program that reads nothing closes its input; its output says what came of it.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}

function jsonOf(text: string): unknown {
  const value = parsedOr(text);
  if (!isRecord(value)) throw new Error('its file is no JSON object; mode "singleValue" takes a file with one value');
  return value;
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says what is missing; the message of the parser would quote the secret.
    return undefined;
  }
}

const countOf = (value: unknown, otherwise: number): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : otherwise;

const textsIn = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];

function reasonOf(error: unknown): string {
  const code = errorCode(error);
  if (code === "ENOENT") return "there is no such file";
  return error instanceof Error && code === undefined ? error.message : String(code ?? "unknown reason");
}
