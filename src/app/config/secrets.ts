import { execFile } from "node:child_process";
import { realpath } from "node:fs/promises";
import { promisify } from "node:util";
import { Secret } from "../../types/secret.ts";
import { secretsOfAddress } from "../../utils/secrets/secret-forms.ts";
import { isSecretLike, isSecretName } from "../../utils/secrets/secret-name.ts";
import { secretsOfArguments } from "../../utils/secrets/secret-text.ts";
import { FIXES, SecretProviders, type MissingSecret } from "./secret-providers.ts";
import { isRecord, type KeyPath, type RawNote } from "./schema/problem.ts";
import { expandHome, type Env } from "../../utils/env.ts";
import { readRegular } from "../../utils/read-regular.ts";

/** Limits of a command that prints a secret. */
const EXEC_TIMEOUT_MS = 5000;
const SECRET_BYTES = 64 * 1024;
const SECRET_NAME = /(token|secret|password|passphrase|api_?key|private_?key)$/i;
/** Sections that our own schema does not type: there the name of a key decides whether its value is secret. */
const FOREIGN_SECTIONS = new Set<string | number>(["channels", "plugins"]);

interface SecretRef {
  readonly source: "env" | "file" | "exec" | "store";
  readonly provider?: string;
  /** The id as one text; a command may be a list. */
  readonly id?: string;
  readonly argv: readonly string[];
}

/** Variables that a config references for a path or a name. Commands get them, because they need them. */
const PLAIN_VARIABLE =
  /^(?:HOME|PATH|USER|USERNAME|LOGNAME|SHELL|HOSTNAME|PWD|TMPDIR|TEMP|TMP|TZ|TERM|LANG|LC_\w+|XDG_\w+)$/;

/** A secret that is nothing but a variable may be written without braces. */
const SHORT_REFERENCE = /^\$([A-Z][A-Z0-9_]{0,127})$/;

interface Resolving {
  readonly env: Env;
  readonly variables: Set<string>;
  readonly root: unknown;
  readonly problems: RawNote[];
  readonly warnings: RawNote[];
  readonly known: Map<string, Promise<Secret | MissingSecret>>;
  readonly providers: SecretProviders;
}

export interface Resolved {
  readonly value: unknown;
  readonly problems: RawNote[];
  readonly warnings: RawNote[];
  /** Names of the environment variables that are referenced, without `HOME`, `PATH` and their like. */
  readonly variables: readonly string[];
}

/**
 * Resolves `${VARIABLE}` and `{source, id}` references: the first to text, the second to `Secret`. A reference that
 * cannot be resolved is left out and reported, as a warning when the section is disabled. Text that looks like a secret
 * is remembered, so that it is masked in logs and answers. Never rejects.
 */
export async function resolveSecrets(root: unknown, env: Env): Promise<Resolved> {
  const all = { ...varsOf(root), ...env };
  const work: Resolving = {
    env: all,
    providers: new SecretProviders(root, all),
    variables: new Set(),
    root,
    problems: [],
    warnings: [],
    known: new Map(),
  };
  for (const [name, text] of Object.entries(env)) if (text && isSecretVariable(name)) Secret.remember(text);
  const value = await resolveNode(root, [], work);
  return { value, problems: work.problems, warnings: work.warnings, variables: [...work.variables].toSorted() };
}

/**
 * Whether the name of a variable says that its value is secret. `PWD` is the folder in which a shell works, whatever
 * `pwd` means elsewhere.
 */
const isSecretVariable = (name: string): boolean => name !== "PWD" && isSecretName(name);

const variableOf = ({ env }: Resolving, name: string): string | undefined =>
  Object.hasOwn(env, name) ? env[name] : undefined;

/** The values of `env.vars` of the config, which apply where the environment has none. */
function varsOf(root: unknown): Record<string, string> {
  const section = isRecord(root) && isRecord(root["env"]) ? root["env"]["vars"] : undefined;
  if (!isRecord(section)) return {};
  return Object.fromEntries(
    Object.entries(section).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}

async function resolveNode(node: unknown, path: KeyPath, work: Resolving): Promise<unknown> {
  if (typeof node === "string") return resolveText(node, path, work);
  if (Array.isArray(node)) {
    const items = await Promise.all(node.map((item, index) => resolveNode(item, [...path, index], work)));
    for (const secret of secretsOfArguments(items)) Secret.remember(secret);
    return items;
  }
  // `secrets` describes where secrets are; its entries look like references but are not.
  if (!isRecord(node) || (path.length === 1 && path[0] === "secrets")) return node;
  const ref = refOf(node);
  if (ref) return resolveRef(ref, path, work);
  const entries = await Promise.all(
    Object.entries(node).map(async ([key, child]) => [key, await resolveNode(child, [...path, key], work)] as const),
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function resolveText(text: string, path: KeyPath, work: Resolving): string | Secret | undefined {
  const missing: string[] = [];
  const names: string[] = [];
  const whole = isSecretPlace(path) ? SHORT_REFERENCE.exec(text)?.[1] : undefined;
  const filled = (whole === undefined ? text : `\${${whole}}`).replace(
    /\$\$\{|\$\{([A-Za-z_]\w*)\}/g,
    (_whole: string, name: string | undefined) => {
      if (name === undefined) return "${";
      const value = variableOf(work, name);
      if (!PLAIN_VARIABLE.test(name)) names.push(name);
      if (value === undefined || value === "") missing.push(name);
      return value ?? "";
    },
  );
  if (missing.length > 0) {
    report(path, { missing: `the environment variable ${missing.join(", ")} is not set`, fix: FIXES.env }, work);
    return undefined;
  }
  for (const name of names) work.variables.add(name);
  const isRemembered = isSecretPlace(path) || names.some(isSecretName) || (isPluginPlace(path) && isSecretLike(filled));
  if (isRemembered) Secret.remember(filled);
  for (const part of secretsOfAddress(filled)) Secret.remember(part);
  const isSecret = FOREIGN_SECTIONS.has(path[0] ?? "") && SECRET_NAME.test(String(path.at(-1))) && filled !== "";
  return isSecret ? new Secret(filled) : filled;
}

/**
 * Whether the name of the key says that its text is secret; entries of a list have the name of the list's key. A
 * plugin's own keys have no types here: values below a secret name, in the singular or plural, are secret too.
 */
export function isSecretPlace(path: KeyPath): boolean {
  const names = path.filter((part) => typeof part === "string");
  if (isPluginPlace(path) && names.slice(PLUGIN_DEPTH).some((name) => isSecretName(name.replace(/s$/, ""))))
    return true;
  return isSecretName(names.at(-1) ?? "") || /^(?:env|.*headers)$/i.test(names.at(-2) ?? "");
}

/** Keys in the path `plugins.entries.<id>.config`. */
const PLUGIN_DEPTH = 4;

/** Whether a value is one of a plugin's own settings. */
export const isPluginPlace = (path: KeyPath): boolean =>
  path.length > PLUGIN_DEPTH && path[0] === "plugins" && path[1] === "entries";

function refOf(node: Record<string, unknown>): SecretRef | undefined {
  const { source, provider, id, ...others } = node;
  if (source !== "env" && source !== "file" && source !== "exec" && source !== "store") return undefined;
  if (Object.keys(others).length > 0) return undefined;
  const argv = argvOf(id, source === "exec");
  if (argv.length === 0) return undefined;
  const named = typeof provider === "string" ? { provider } : {};
  return { source, argv, ...(typeof id === "string" && { id }), ...named };
}

/**
 * The arguments of a reference. A command is a list, or text that is split at spaces outside quotes; no shell is used.
 */
function argvOf(id: unknown, isCommand: boolean): readonly string[] {
  if (Array.isArray(id)) return isCommand && id.every((part) => typeof part === "string") ? id : [];
  if (typeof id !== "string" || id === "") return [];
  if (!isCommand) return [id];
  return (id.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []).map((part) => part.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

async function resolveRef(ref: SecretRef, path: KeyPath, work: Resolving): Promise<Secret | undefined> {
  const name = JSON.stringify(ref);
  if (ref.source === "env") for (const variable of ref.argv) work.variables.add(variable);
  const found = work.known.get(name) ?? readSecret(ref, work);
  work.known.set(name, found);
  const secret = await found;
  if (secret instanceof Secret) return secret;
  report(path, secret, work);
  return undefined;
}

async function readSecret(ref: SecretRef, { env, providers }: Resolving): Promise<Secret | MissingSecret> {
  const provider = providers.nameOf(ref.source, ref.provider);
  if (ref.source === "store")
    return {
      missing: "the secret store of OpenClaw is not read here",
      fix: `Give ${ref.id} as a variable or in a file (secrets.providers), or take the key out.`,
    };
  if (provider !== undefined && ref.id !== undefined) {
    const found = await providers.read(provider, ref.id);
    return "text" in found ? new Secret(found.text) : found;
  }
  if (ref.provider !== undefined && ref.provider !== "default")
    return {
      missing: `secrets.providers has no provider "${ref.provider}" with the source ${ref.source}`,
      fix: "Add the provider, or name one that is there.",
    };
  const [first = "", ...args] = ref.argv;
  if (ref.source === "env") {
    const value = Object.hasOwn(env, first) ? env[first] : undefined;
    if (value) return new Secret(value);
    if (/^\w+$/.test(first)) return { missing: `the environment variable ${first} is not set`, fix: FIXES.env };
    return { missing: `"${first}" is no name of an environment variable`, fix: "Write the name of the variable." };
  }
  try {
    const text =
      ref.source === "file" ? await readSecretFile(expandHome(first, env)) : await runCommand(first, args, env);
    const value = text.replace(/\r?\n$/, "");
    return value === ""
      ? { missing: `${ref.source} "${first}" gave nothing`, fix: FIXES[ref.source] }
      : new Secret(value);
  } catch (error) {
    return { missing: `${ref.source} "${first}" failed: ${reasonOf(error)}`, fix: FIXES[ref.source] };
  }
}

async function readSecretFile(path: string): Promise<string> {
  return (await readRegular(await realpath(path), SECRET_BYTES)).toString("utf8");
}

async function runCommand(program: string, args: readonly string[], env: Env): Promise<string> {
  const options = {
    timeout: EXEC_TIMEOUT_MS,
    killSignal: "SIGKILL",
    maxBuffer: SECRET_BYTES,
    shell: false,
    env,
  } as const;
  const { stdout } = await promisify(execFile)(expandHome(program, env), [...args], options);
  return stdout;
}

/** The reason why a secret could not be read. Never contains the output of a command: the output may be the secret. */
function reasonOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "unknown reason";
  if ("killed" in error && error.killed === true)
    return `no answer within ${EXEC_TIMEOUT_MS / 1000} s, or too much of it`;
  if (!("code" in error) || error.code === undefined) return error instanceof Error ? error.message : "unknown reason";
  if (typeof error.code === "string") return error.code;
  return typeof error.code === "number" ? `exit code ${error.code}` : "unknown reason";
}

function report(path: KeyPath, { missing: message, fix }: MissingSecret, work: Resolving): void {
  const notes = isOff(path, work.root) ? work.warnings : work.problems;
  notes.push({ path, message, fix, code: "SECRET_MISSING" });
}

/** Whether the path lies in a section with `enabled: false`. */
function isOff(path: KeyPath, root: unknown): boolean {
  let node = root;
  for (const segment of path) {
    if (isRecord(node) && node["enabled"] === false) return true;
    node = isRecord(node) && Object.hasOwn(node, segment) ? node[segment] : undefined;
  }
  return false;
}
