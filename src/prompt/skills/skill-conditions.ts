import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { propertyOf } from "../../utils/own.ts";

/** The conditions of a skill; the names are from `metadata.openclaw` in a `SKILL.md`. */
export interface SkillConditions {
  /** Offered whatever the other conditions say, on the systems of `os`. */
  readonly always: boolean;
  /** Values of `process.platform`; every system when empty. */
  readonly os: readonly string[];
  /** Programs that must all be in `PATH`. */
  readonly bins: readonly string[];
  /** Programs of which one must be in `PATH`. */
  readonly anyBins: readonly string[];
  /** Environment variables that must all have a value. */
  readonly env: readonly string[];
  /** Config keys, dotted, whose values must all be set and not false. */
  readonly config: readonly string[];
}

/** Facts about this machine that decide which skills can be used. */
export interface SkillMachine {
  /** As `process.platform`. */
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config: unknown;
}

/** Conditions that this machine does not meet, each with its names; an empty list for a condition that is met. */
export type UnmetNeeds = Record<"os" | "bins" | "anyBins" | "env" | "config", string[]>;

/**
 * The unmet conditions of a skill. `given`: names of variables that the skill gets besides the machine's. Costs a few
 * `access` calls a program. Never throws.
 */
export async function unmetNeeds(
  { os, always, bins, anyBins, env, config }: SkillConditions,
  machine: SkillMachine,
  given: readonly string[] = [],
): Promise<UnmetNeeds> {
  const none = { bins: [], anyBins: [], env: [], config: [] };
  if (os.length > 0 && !os.includes(machine.platform)) return { ...none, os: [...os] };
  if (always) return { ...none, os: [] };
  const missing = await missingPrograms([...bins, ...anyBins], machine);
  const hasNone = anyBins.length > 0 && anyBins.every((name) => missing.has(name));
  return {
    os: [],
    bins: bins.filter((name) => missing.has(name)),
    anyBins: hasNone ? [...anyBins] : [],
    env: env.filter((name) => !given.includes(name) && !machine.env[name]?.trim()),
    config: config.filter((path) => !isSet(machine.config, path)),
  };
}

/** Why a skill cannot be used here; undefined when it can. Otherwise as `unmetNeeds`. */
export async function unmetCondition(
  needs: SkillConditions,
  machine: SkillMachine,
  given: readonly string[] = [],
): Promise<string | undefined> {
  const { os, env, config, bins, anyBins } = await unmetNeeds(needs, machine, given);
  if (os.length > 0) return `it is for ${os.join(", ")}, this is ${machine.platform}`;
  if (env[0] !== undefined) return `it needs the environment variable ${env[0]}`;
  if (config[0] !== undefined) return `it needs the config key ${config[0]}`;
  if (bins[0] !== undefined) return `it needs the program ${bins[0]} in PATH`;
  return anyBins.length > 0 ? `it needs one of the programs ${anyBins.join(", ")} in PATH` : undefined;
}

function isSet(config: unknown, path: string): boolean {
  const value = path.split(".").reduce<unknown>((at, key) => propertyOf(at, key), config);
  return value !== undefined && value !== null && value !== false && value !== "" && value !== 0;
}

async function missingPrograms(names: readonly string[], machine: SkillMachine): Promise<ReadonlySet<string>> {
  const found = await Promise.all(names.map((name) => isInPath(name, machine)));
  return new Set(names.filter((_name, index) => found[index] === false));
}

async function isInPath(name: string, { env, platform }: SkillMachine): Promise<boolean> {
  // A name with a separator would lead out of PATH.
  if (/[/\\]/.test(name) || name === "") return false;
  const endings = platform === "win32" ? (env["PATHEXT"] ?? ".EXE;.CMD;.BAT;.COM").split(";") : [""];
  const directories = (env["PATH"] ?? "").split(delimiter).filter((directory) => directory !== "");
  for (const directory of directories) {
    for (const ending of endings) {
      if (await isExecutable(join(directory, name + ending))) return true;
    }
  }
  return false;
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
