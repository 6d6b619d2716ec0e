import { createHash } from "node:crypto";
import { basename, dirname, join, relative } from "node:path";
import { writeAtomic } from "../../../store/disk.ts";
import { changeInstance } from "../../../store/lock/instance.ts";
import { makeDirectory } from "../../../store/make-directory.ts";
import { isInside } from "../../../utils/real-path.ts";
import { setConfigValue, unsetConfigValue } from "../../config/edit/edit.ts";
import { leavesBetween } from "../../config/edit/patch.ts";
import { loadSource } from "../../config/load.ts";
import { withPresentForms, type FormEdit } from "../../config/old-forms.ts";
import { ConfigError, isRecord, showPath, valueAt, type KeyPath } from "../../config/schema/problem.ts";
import { type ConfigSource, readConfigText, sourceOf } from "../../config/source.ts";
import type { ImportKind, Item, KindPlan, Left, OpenTarget, Target } from "../frame/kind.ts";
import { receiptName, type ItemOutcome, type ItemReceipt } from "../frame/receipts.ts";
import type { ImportSource } from "../frame/source.ts";

const KIND = "config";
const ID = "config";
/** Keys that are named of a config that stays behind. */
const MOST_NAMED = 20;

/**
 * The config. A target without one gets it: one file, in the forms of today, with references to secrets as they are written. Its channels
 * stay off until a person says that the other gateway is gone: two programs that poll one bot take each other's messages.
 */
export const configKind: ImportKind = {
  id: KIND,
  title: "Config",
  async plan(from, to): Promise<KindPlan> {
    const { config } = from;
    if (!config) return { items: [], left: missing(from) };
    const { text, notes } = await configHere(from, config, to);
    const there = await readConfigText(to.load.path);
    const isOurs = to.receipts.has(receiptName({ kind: KIND, id: ID })) || there === undefined || there === text;
    if (!isOurs) return { items: [], left: [await differing(text, to)] };
    const item: Item = {
      id: ID,
      name: config.path,
      version: config.hash,
      notes,
      take: (open, before) => put(text, open, before),
    };
    return { items: [item], left: [] };
  },
};

const missing = ({ configProblem, dir }: ImportSource): readonly Left[] => [
  { name: "config", why: configProblem ?? `${dir} has none` },
];

async function put(text: string, { load, paths }: OpenTarget, before: ItemReceipt | undefined): Promise<ItemOutcome> {
  const there = await readConfigText(load.path);
  const isOurs = there === undefined || there === text || (before !== undefined && before.mark === hashOf(there));
  if (!isOurs) return { left: `${load.path} was changed since it was imported` };
  await changeInstance(paths.stateDir, { origin: "import" });
  await makeDirectory(dirname(load.path));
  if (there !== text) await writeAtomic(load.path, text);
  return { made: basename(load.path), mark: hashOf(text) };
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The names of the keys that differ, without their values. */
async function differing(text: string, { load }: Target): Promise<Left> {
  const own = await sourceOf(await readConfigText(load.path), load);
  const theirs = await sourceOf(text, load);
  const keys = leavesBetween(own.value, theirs.value).map(({ path }) => showPath(path));
  const more = keys.length > MOST_NAMED ? `, and ${keys.length - MOST_NAMED} more` : "";
  return {
    name: "config",
    why: `${load.path} is there already and stays as it is. It differs in: ${keys.slice(0, MOST_NAMED).join(", ")}${more}`,
  };
}

interface ConfigHere {
  readonly text: string;
  readonly notes: readonly string[];
}

async function configHere(from: ImportSource, config: ConfigSource, to: Target): Promise<ConfigHere> {
  const isOne = config.files.size === 1;
  const start = isOne ? (config.text ?? "") : `${JSON.stringify(config.value, null, 2)}\n`;
  const { edits: forms, value, warnings } = withPresentForms(config.value);
  const own = [...scopeOf(value), ...placesOf(value, from, to)];
  const text = [...forms, ...own].reduce(edited, start);
  return {
    text,
    notes: [
      ...(isOne ? [] : [`made of ${config.files.size} files, which $include names: their comments stay behind`]),
      ...warnings.map(({ path }) => `${showPath(path)} is written in its present form`),
      ...own.map((edit) => `${showPath(edit.path)} is set to ${JSON.stringify(edit.value)}`),
      ...(await problemsIn(text, to)),
    ],
  };
}

const edited = (text: string, { path, value }: FormEdit): string =>
  value === undefined ? unsetConfigValue(text, path) : setConfigValue(text, path, value);

/** OpenClaw reads a missing `session.dmScope` as `main`, this gateway as one conversation per person. */
function scopeOf(value: unknown): readonly FormEdit[] {
  const path = ["session", "dmScope"];
  return valueAt(value, path) === undefined ? [{ path, value: "main" }] : [];
}

const OWN_PLACES = new Set(["workspace", "agentDir"]);

/** Places below the source as the same ones below the target: what is taken over lies there. */
function placesOf(value: unknown, from: ImportSource, to: Target): readonly FormEdit[] {
  const found: FormEdit[] = [];
  const walk = (node: unknown, path: KeyPath): void => {
    if (Array.isArray(node)) for (const [at, child] of node.entries()) walk(child, [...path, at]);
    else if (isRecord(node)) for (const [name, child] of Object.entries(node)) walk(child, [...path, name]);
    else if (typeof node === "string" && OWN_PLACES.has(String(path.at(-1)))) {
      const here = placeHere(node, from, to);
      // Relative to the state directory, so that a copy of it works in its own folders.
      if (here !== node) found.push({ path, value: relative(to.paths.stateDir, here) });
    }
  };
  walk(valueAt(value, ["agents"]), ["agents"]);
  return found;
}

/** A path of the config: the same place below the target's directory when it lies below the source's. */
export function placeHere(path: string, from: Pick<ImportSource, "dir">, to: Pick<Target, "paths" | "load">): string {
  const home = to.load.env["HOME"] ?? "";
  const whole = path.startsWith("~/") ? join(home, path.slice(2)) : path;
  return isInside(whole, from.dir) ? join(to.paths.stateDir, whole.slice(from.dir.length)) : path;
}

/** What keeps the gateway from starting with the config. It is written all the same: each key needs a person's decision. */
async function problemsIn(text: string, { load }: Target): Promise<readonly string[]> {
  try {
    await loadSource(await sourceOf(text, load), load);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) => `the gateway does not start with it: ${problem.text}`);
  }
}
