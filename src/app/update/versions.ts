import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { makePrivateDir, writeAtomic } from "../../store/disk.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { installedRoot, packageVersion } from "../package-root.ts";
import { readTextFile } from "../../store/text-file.ts";

/** The name of the npm package, and of its folder in a version. */
export const PACKAGE = "claw-gateway";

/** The steps of an update, in their order. */
const STEPS = ["requested", "staging", "validating", "activating", "restarting", "verifying", "finished"] as const;
export type UpdateStep = (typeof STEPS)[number];
const OUTCOMES = ["succeeded", "failed", "rolled-back", "skipped"] as const;

/** A version: the name of its folder in `versions/`; null is the installed package. */
const version = z.object({ name: z.string().nullable(), version: z.string() });
export type Version = z.infer<typeof version>;

const record = z.object({
  id: z.string(),
  kind: z.enum(["update", "back"]),
  /** What was asked for, as npm names it. */
  spec: z.string(),
  from: version,
  to: version.optional(),
  steps: z.array(z.object({ step: z.enum(STEPS), at: z.string() })),
  outcome: z.enum(OUTCOMES).optional(),
  why: z.string().optional(),
});
/** An update that was begun. Without an outcome it was interrupted, or runs. */
export type UpdateRecord = z.infer<typeof record>;
const ledger = z.object({ schema: z.literal(1), updates: z.array(record) });

const choiceShape = z.object({
  schema: z.literal(1),
  /** The installed package that follows the choice. Another one, or another version of it, was installed later and is used itself. */
  root: z.string(),
  version: z.string(),
  use: version,
  /** The version before, to which `update back` returns. */
  before: version.optional(),
});
/** Which version runs, and which one ran before it. */
export type ChosenVersion = Pick<z.infer<typeof choiceShape>, "use" | "before">;

const MOST_RECORDS = 50;
/** Folders of an update that is not finished begin with a dot. */
const UNFINISHED = ".";

/** The versions beside the installed package, the choice between them, and the record of updates: `versions/` of a state directory. */
export class Versions {
  readonly dir: string;
  /** The installed package, whose `bin/openclaw.mjs` follows the choice. */
  readonly installed = { root: installedRoot(), version: packageVersion(installedRoot()) };
  readonly #choice: string;
  readonly #ledger: string;

  constructor(stateDir: string) {
    this.dir = join(stateDir, "versions");
    this.#choice = join(this.dir, "current.json");
    this.#ledger = join(this.dir, "updates.json");
  }

  /** The file that says that an update runs. */
  get lock(): string {
    return this.#ledger;
  }

  rootOf({ name }: Pick<Version, "name">): string {
    return name === null ? this.installed.root : join(this.dir, name, "node_modules", PACKAGE);
  }

  programOf(one: Pick<Version, "name">): string {
    return join(this.rootOf(one), "bin", "openclaw.mjs");
  }

  async choice(): Promise<ChosenVersion> {
    const found = await readAs(this.#choice, choiceShape);
    const { root, version: at } = this.installed;
    if (found?.root === root && found.version === at) return found;
    return { use: { name: null, version: at } };
  }

  /** Starts use the version from now on. */
  async choose({ use, before }: ChosenVersion): Promise<void> {
    await makePrivateDir(this.dir);
    const { root, version: at } = this.installed;
    const written = { schema: 1, root, version: at, use, ...(before && { before }) };
    await writeAtomic(this.#choice, `${JSON.stringify(written, null, 2)}\n`);
  }

  /** The updates, oldest first. A file that cannot be read is begun anew. */
  async updates(): Promise<readonly UpdateRecord[]> {
    return (await readAs(this.#ledger, ledger))?.updates ?? [];
  }

  /** Writes an update, over what was known of it. */
  async note(one: UpdateRecord): Promise<void> {
    await makePrivateDir(this.dir);
    const others = (await this.updates()).filter(({ id }) => id !== one.id);
    const updates = [...others, one].slice(-MOST_RECORDS);
    await writeAtomic(this.#ledger, `${JSON.stringify({ schema: 1, updates }, null, 2)}\n`);
  }

  /** A folder for work that is not finished. */
  draft(kind: "staging" | "trial", id: string): string {
    return join(this.dir, `${UNFINISHED}${kind}-${id}`);
  }

  /** Removes the folders of versions but these, and of unfinished work. Nobody updates meanwhile. Resolves with the names of removed versions. */
  async removeBut(kept: readonly Version[]): Promise<readonly string[]> {
    const entries = (await unlessMissing(readdir(this.dir, { withFileTypes: true }))) ?? [];
    const names = entries
      .filter((entry) => entry.isDirectory() && !entry.name.endsWith(".lock"))
      .map(({ name }) => name);
    const others = names.filter((name) => !kept.some((one) => one.name === name));
    for (const name of others) await rm(join(this.dir, name), { recursive: true, force: true });
    return others.filter((name) => !name.startsWith(UNFINISHED));
  }
}

async function readAs<T>(path: string, shape: z.ZodType<T>): Promise<T | undefined> {
  const text = await readTextFile(path);
  if (text === undefined) return undefined;
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch {
    // A damaged choice means the installed package, as for `bin/openclaw.mjs`; damaged records are only history.
    return undefined;
  }
}
