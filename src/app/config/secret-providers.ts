import { open, type FileHandle } from "node:fs/promises";
import { expandHome, type Env } from "../../utils/env.ts";
import { errorCode } from "../../utils/missing.ts";
import { READ_NO_FOLLOW, readBytes } from "../../utils/read-regular.ts";
import { isRecord, valueAt } from "./schema/problem.ts";
import { countOrElse, isOwnFile, MOST_SECRET_BYTES, outputOfTrusted, FaultWithFix } from "./trusted-program.ts";

/** A secret, or the reason why it is not there, and what to do. Neither contains what a file or a program said. */
export type Found = { readonly text: string } | MissingSecret;

export interface MissingSecret {
  readonly missing: string;
  readonly fix: string;
}

/** What to do about a secret that its source does not give. */
export const FIXES = {
  env: "Set the variable where the gateway starts (in its service file, too), or take the key out.",
  file: "Put the secret into the file, or take the key out.",
  exec: "Mend the program, or take the key out.",
} as const;

/** A named place of secrets, as `secrets.providers` of the config has it. */
type Provider = Readonly<Record<string, unknown>>;

const TIMEOUT_MS = 5000;
const PROTOCOL = 1;
/** The id of the only value of a file in the mode `singleValue`. */
const SINGLE = "value";
const EXEC_ID = /^[A-Za-z0-9][A-Za-z0-9._:/#-]{0,255}$/;
/** Codes of programs that are shown; any other text of a program may be a secret. */
const SHOWN_CODES = new Set(["NOT_FOUND", "AMBIGUOUS_DUPLICATE_KEY"]);

type Source = keyof typeof FIXES;

const missing = (source: Source, reason: string): Found => ({ missing: reason, fix: FIXES[source] });

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
      const reason = `the secret provider "${name}" failed: ${reasonOf(error)}`;
      if (error instanceof FaultWithFix) return { missing: reason, fix: error.fix };
      return missing(this.#provider(name)?.["source"] === "exec" ? "exec" : "file", reason);
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
    return missing("env", `the environment variable ${id} is not in the allowlist of its secret provider`);
  const text = Object.hasOwn(env, id) ? env[id] : undefined;
  return text ? { text } : missing("env", `the environment variable ${id} is not set`);
}

async function openFile(name: string, provider: Provider, env: Env): Promise<(id: string) => Found> {
  const { path, mode = "json" } = provider;
  if (typeof path !== "string" || path === "") throw new Error("it has no path");
  const file = await open(expandHome(path, env), READ_NO_FOLLOW).catch((error: unknown) => {
    throw errorCode(error) === "ELOOP" ? new Error(IS_LINK) : error;
  });
  let text: string;
  try {
    text = await privateText(file, { path, most: countOrElse(provider["maxBytes"], MOST_SECRET_BYTES) });
  } finally {
    await file.close();
  }
  if (mode === "singleValue") {
    const value = text.replace(/\r?\n$/, "");
    return (id) => {
      if (id !== SINGLE)
        return missing("file", `the file of the secret provider "${name}" has one value; its id is "${SINGLE}"`);
      return value === "" ? missing("file", `the file of the secret provider "${name}" is empty`) : { text: value };
    };
  }
  const values = jsonOf(text);
  return (id) => {
    const value = pointedAt(values, id);
    if (value === "not a pointer")
      return missing("file", `"${id}" is no JSON pointer; write it as /providers/openai/apiKey`);
    if (typeof value.found !== "string" || value.found === "")
      return missing("file", `the file of the secret provider "${name}" has no text at ${id}`);
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
async function privateText(
  file: FileHandle,
  { path, most }: { readonly path: string; readonly most: number },
): Promise<string> {
  const facts = await file.stat();
  if (!facts.isFile()) throw new Error(IS_LINK);
  if (facts.nlink > 1) throw new Error("its file has a second name (hard link); copy it to a new file");
  if (facts.size > most) throw new Error(`its file is larger than ${most} bytes`);
  if (process.platform !== "win32") {
    if (!isOwnFile(facts.uid)) throw new Error("its file belongs to another user");
    if ((facts.mode & 0o077) !== 0)
      throw new FaultWithFix("its file can be read by other users", `Run: chmod 600 ${path}.`);
  }
  return (await readBytes(file, facts.size)).toString("utf8");
}

interface Ask {
  readonly ids: readonly string[];
  readonly env: Env;
}

/** Asks a program for all ids at once: JSON on its standard input, JSON on its standard output. */
async function askProgram(name: string, provider: Provider, { ids, env }: Ask): Promise<(id: string) => Found> {
  const { command } = provider;
  if (provider["pluginIntegration"] !== undefined)
    throw new Error("a plugin says how it is asked, and this gateway has no such plugins; give command and args");
  if (typeof command !== "string" || command === "") throw new Error("it has no command");
  const wanted = ids.filter(isExecId);
  const input = JSON.stringify({ protocolVersion: PROTOCOL, provider: name, ids: wanted });
  const output = await outputOfTrusted({ ...provider, command }, { input, env, timeoutMs: TIMEOUT_MS });
  const answer = parsedOr(output);
  if (!isRecord(answer)) {
    if (provider["jsonOnly"] !== false || wanted.length !== 1) throw new Error("its program gave no JSON object");
    const text = output.replace(/\r?\n$/, "");
    return (id) =>
      id === wanted[0] && text !== "" ? { text } : missing("exec", `the secret provider "${name}" has no ${id}`);
  }
  if (answer["protocolVersion"] !== PROTOCOL)
    throw new Error(`its program does not answer with protocolVersion ${PROTOCOL}`);
  return (id) => answered(answer, id, name);
}

function answered(answer: Readonly<Record<string, unknown>>, id: string, name: string): Found {
  if (!isExecId(id)) return missing("exec", `"${id}" is no id that a program is asked for`);
  const value = valueAt(answer, ["values", id]);
  if (typeof value === "string" && value !== "") return { text: value };
  const code = valueAt(answer, ["errors", id, "code"]);
  const why = typeof code === "string" && SHOWN_CODES.has(code) ? `: ${code}` : "";
  return missing("exec", `the secret provider "${name}" has no ${id}${why}`);
}

const isExecId = (id: string): boolean =>
  EXEC_ID.test(id) && !id.split("/").some((part) => part === "." || part === "..");

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

function reasonOf(error: unknown): string {
  const code = errorCode(error);
  if (code === "ENOENT") return "there is no such file";
  return error instanceof Error && code === undefined ? error.message : String(code ?? "unknown reason");
}
