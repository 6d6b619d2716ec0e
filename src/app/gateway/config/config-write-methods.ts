import { z } from "zod";
import JSON5 from "json5";
import { configAnswers } from "../../../types/answers/config.ts";
import { keyParam } from "../../../types/key-field.ts";
import { asRefusal, defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { setConfigValue } from "../../config/edit/edit.ts";
import { mergePatch } from "../../config/edit/merge.ts";
import { leavesBetween, type Leaf } from "../../config/edit/patch.ts";
import { wireConfig, restored } from "../../config/edit/wire-config.ts";
import { ConfigChangedError, writeConfigValues, writeWholeConfig } from "../../config/edit/write.ts";
import { isWaiting } from "../../config/keys/schema-keys.ts";
import type { LoadOptions } from "../../config/load.ts";
import { hasInclude, readConfigSource } from "../../config/source.ts";
import { ConfigError, isRecord, valueAt } from "../../config/schema/problem.ts";
import { requireSlots } from "../../plugins/select.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import type { Live } from "../../live.ts";
import type { Parts } from "../parts/parts.ts";
import { issuesIn } from "./config-methods.ts";

const wholeParams = z.looseObject({ raw: z.string(), baseHash: z.string().min(1).optional() });

/** Taken from clients that expect a restart, and a message about it in a conversation: here changes apply by themselves. */
const restartParams = {
  sessionKey: keyParam().optional(),
  note: z.string().max(4000).optional(),
  restartDelayMs: z.int().min(0).optional(),
};

const patchParams = z.looseObject({
  raw: z.string().optional(),
  patch: z.unknown().optional(),
  baseHash: z.string().min(1).optional(),
  replacePaths: z.array(z.string().min(1)).optional(),
  ...restartParams,
});

/** The methods that write the config. Each write is one step, and the gateway then follows the file as after any change. */
export const configWriteMethods = ({ live }: Pick<Parts, "live">): readonly Method[] => [
  defineMethod({
    name: "config.set",
    scope: "operator.admin",
    params: wholeParams,
    result: configAnswers.set,
    run: async ({ raw, baseHash }) => {
      const { path, hash, config } = await replaceConfig(live, raw, { baseHash, keepsAgents: true });
      return { ok: true, path, hash, config };
    },
  }),
  defineMethod({
    name: "config.apply",
    scope: "operator.admin",
    params: wholeParams.extend(restartParams),
    result: configAnswers.apply,
    run: async ({ raw, baseHash, note }) => {
      const { path, hash, config, edits } = await replaceConfig(live, raw, { baseHash, keepsAgents: false });
      return { ok: true, path, hash, config, sentinel: sentinelOf("config.apply", { path, edits, note }) };
    },
  }),
  defineMethod({
    name: "config.patch",
    scope: "operator.admin",
    params: patchParams,
    result: configAnswers.patch,
    run: async (asked) => {
      const { path, hash, config, edits } = await patchConfig(live, asked);
      const changed = edits.map((edit) => edit.path.join("."));
      const what =
        edits.length === 0
          ? { noop: true as const }
          : { sentinel: sentinelOf("config.patch", { path, edits, note: asked.note }) };
      return { ok: true, path, hash, config, changed, changedPaths: changed, ...what };
    },
  }),
];

interface Written {
  readonly path: string;
  readonly hash: string;
  readonly config: unknown;
  readonly edits: readonly Leaf[];
}

/** The report of a change for a client that restarts gateways; nothing is left for the next start. */
const sentinelOf = (
  mode: "config.apply" | "config.patch",
  { path, edits, note }: Pick<Written, "path" | "edits"> & { readonly note: string | undefined },
) => ({
  persisted: false,
  payload: {
    kind: mode.replace(".", "-"),
    status: "ok",
    ts: Date.now(),
    message: note ?? null,
    stats: { mode, root: path, requiresRestart: edits.some((edit) => isWaiting(edit.path)) },
  },
});

interface Present {
  readonly options: LoadOptions;
  readonly hash: string;
  readonly text: string;
  readonly source: Readonly<Record<string, unknown>>;
  /** The value of the main file alone. */
  readonly main: unknown;
}

async function present(live: Live): Promise<Present> {
  const options = await loadOptionsFor(live.contributions, live.paths);
  const { text = "", hash, value, files } = await readConfigSource(options);
  return { options, text, hash, source: isRecord(value) ? value : {}, main: files.get(options.path)?.value };
}

const CHANGED = "config changed since last load; re-run config.get and retry";
const NO_HASH = "config base hash required; re-run config.get and retry";

function requireHash(baseHash: string | undefined, { text, hash }: Present): void {
  if (baseHash === undefined && text !== "") throw new MethodError("INVALID_REQUEST", NO_HASH);
  if (baseHash !== undefined && baseHash !== hash) throw changed();
}

const changed = () => new MethodError("CONFLICT", CHANGED, { details: { code: "CONFIG_CHANGED" } });

interface How {
  readonly baseHash: string | undefined;
  /** Agents that the new config leaves out are a mistake. */
  readonly keepsAgents: boolean;
}

/** Replaces the whole config. A text of a form changes the keys that differ; a text that a person wrote becomes the file. */
async function replaceConfig(live: Live, raw: string, { baseHash, keepsAgents }: How): Promise<Written> {
  return explained(async () => {
    const before = await present(live);
    requireHash(baseHash, before);
    const asked = parsed(raw);
    // A text that names other files is one of the main file; a form sends the values of all files.
    const base = hasInclude(asked) ? before.main : before.source;
    const next = restored(asked, base);
    if (keepsAgents) refuseLostAgents(base, next);
    const edits = leavesBetween(base, next);
    await requireSlots(live, edits);
    if (isPlainJson(raw)) await writeConfigValues(before.options, edits, before.hash);
    else await writeWholeConfig(before.options, filled(raw, asked, next), before.hash);
    return written(live, edits);
  });
}

/** The text of a person, with the kept values in place of placeholders. */
const filled = (raw: string, asked: unknown, next: unknown): string =>
  leavesBetween(asked, next).reduce((text, { path, value }) => setConfigValue(text, path, value), raw);

function isPlainJson(raw: string): boolean {
  try {
    JSON.parse(raw);
    return true;
  } catch {
    // JSON5 with its comments, which only people write.
    return false;
  }
}

function refuseLostAgents(before: unknown, after: unknown): void {
  const kept = new Set(agentsOf(after));
  const lost = agentsOf(before).filter((id) => !kept.has(id));
  if (lost.length > 0)
    throw new MethodError(
      "INVALID_REQUEST",
      `config.set would remove the agents ${lost.join(", ")}. Remove an agent with agents.delete.`,
    );
}

function agentsOf(config: unknown): readonly string[] {
  const list = valueAt(config, ["agents", "list"]);
  const entries = valueAt(config, ["agents", "entries"]);
  const rows: readonly unknown[] = Array.isArray(list) ? list : [];
  const ids = rows.flatMap((row) => (isRecord(row) && typeof row["id"] === "string" ? [row["id"]] : []));
  return [...ids, ...(isRecord(entries) ? Object.keys(entries) : [])].map((id) => id.toLowerCase());
}

/** How often a patch without a hash begins again when the file changes meanwhile. */
const ATTEMPTS = 5;

/**
 * Merges a patch into the file. `raw` is the protocol's form, in which a list that would lose items has to be named;
 * `patch` replaces lists.
 */
async function patchConfig(live: Live, asked: z.output<typeof patchParams>, left = ATTEMPTS): Promise<Written> {
  const { raw, patch, baseHash, replacePaths = [] } = asked;
  const wanted = raw === undefined ? patch : parsed(raw);
  if (!isRecord(wanted))
    throw new MethodError("INVALID_REQUEST", "config.patch takes an object in `patch`, or its JSON5 in `raw`");
  try {
    return await explained(async () => {
      const before = await present(live);
      if (baseHash !== undefined) requireHash(baseHash, before);
      const { value, losing } = mergePatch(before.source, wanted, raw === undefined ? "all" : new Set(replacePaths));
      if (losing.length > 0) throw lostItems(losing);
      const edits = leavesBetween(before.source, restored(value, before.source));
      await requireSlots(live, edits);
      if (edits.length > 0) await writeConfigValues(before.options, edits, before.hash);
      return written(live, edits);
    });
  } catch (error) {
    const isOvertaken = error instanceof MethodError && error.message === CHANGED && baseHash === undefined;
    if (isOvertaken && left > 0) return patchConfig(live, asked, left - 1);
    throw error;
  }
}

const lostItems = (lists: readonly string[]) =>
  new MethodError(
    "INVALID_REQUEST",
    `config.patch would remove items of ${lists.join(", ")}. Name these lists in replacePaths if they are to be replaced.`,
  );

function parsed(raw: string): unknown {
  try {
    return JSON5.parse<unknown>(raw);
  } catch (error) {
    throw new MethodError("INVALID_REQUEST", `raw is no JSON5: ${errorText(error)}`);
  }
}

async function written(live: Live, edits: readonly Leaf[]): Promise<Written> {
  const { options, hash, source } = await present(live);
  return { path: options.path, hash, config: wireConfig(source), edits };
}

/** Runs a change. What the client has to mend is an answer with the paths of the keys. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConfigChangedError) throw changed();
    if (error instanceof ConfigError) throw invalid(error);
    throw asRefusal(error);
  }
}

const MOST_NAMED = 3;

function invalid(error: ConfigError): MethodError {
  const issues = issuesIn(error);
  const named = issues.slice(0, MOST_NAMED).map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const more = issues.length > MOST_NAMED ? ` (+${issues.length - MOST_NAMED} more)` : "";
  return new MethodError("INVALID_REQUEST", `invalid config: ${named.join("; ")}${more}`, { details: { issues } });
}
