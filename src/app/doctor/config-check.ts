import type { Check, CheckResult } from "../../types/check.ts";
import { exists } from "../../utils/exists.ts";
import { lastValidHint } from "../config/last-valid.ts";
import { loadConfig, type LoadOptions } from "../config/load.ts";
import type { StatePaths } from "../config/paths.ts";
import { STOP_FIX } from "../config/keys/narrowing.ts";
import { SeveralFilesError, writeConfigValues } from "../config/edit/write.ts";
import { formsIn, withPresentForms, type FormEdit } from "../config/old-forms.ts";
import { OpenClawError, sentences } from "../../types/errors.ts";
import { ConfigError, showPath, type ConfigNote } from "../config/schema/problem.ts";
import { readConfigSource } from "../config/source.ts";

const resultOf = ({ text, isStop }: ConfigNote): CheckResult =>
  isStop === true ? { status: "fail", message: text, fix: STOP_FIX } : { status: "warn", message: text };

/** Whether the config file loads; every problem and every key without effect is a line. */
export function configCheck(options: LoadOptions, paths: Pick<StatePaths, "stateSub">): Check {
  return {
    id: "app.config",
    title: "Config",
    async run() {
      try {
        const { warnings, exists } = await loadConfig(options);
        const ok: CheckResult = {
          status: "ok",
          message: exists ? `${options.path} is valid.` : `No ${options.path}: all defaults.`,
        };
        return [ok, ...warnings.map(resultOf), ...(await rewriting(options))];
      } catch (error) {
        if (!(error instanceof ConfigError) || error.problems.length === 0) throw error;
        const ways = [await wayBack(options.path), await lastValidHint(paths)];
        const fix = ways.reduce<string>((text, way) => (way === undefined ? text : sentences(text, way)), error.fix);
        const failed = error.problems.map((note): CheckResult => ({ status: "fail", message: note.text, fix }));
        return [...failed, ...(await rewriting(options))];
      }
    },
  };
}

/** The config, the files that it includes, and their earlier versions. */
export async function configFiles({ configPath }: Pick<StatePaths, "configPath">): Promise<readonly string[]> {
  // The check of the config reports why its files cannot be read; the main file's mode counts all the same.
  const source = await readConfigSource({ path: configPath }).catch(() => undefined);
  const files = source ? [...source.files.keys()] : [configPath];
  return files.flatMap((file) => [file, `${file}.bak`]);
}

/** The repair that writes keys in the forms of another version as they are written here; comments and the other keys stay. */
async function rewriting(options: LoadOptions): Promise<readonly CheckResult[]> {
  // The caller has reported why the files cannot be read; nothing can be rewritten then.
  const source = await readConfigSource(options).catch(() => undefined);
  const { edits, warnings } = withPresentForms(source?.value ?? {});
  if (edits.length === 0) return [];
  const keys = warnings.map(({ path }) => showPath(path)).join(", ");
  return [
    {
      status: "warn",
      message: `Keys in forms of other versions: ${keys}.`,
      fix: "Run: openclaw doctor --fix",
      repair: {
        describe: `write ${keys} in ${options.path} in the forms of this version`,
        apply: () => rewriteForms(options, edits),
      },
    },
  ];
}

/** Writes the edits in one step; where they are about several files, form by form. Throws with the keys that could not be written. */
async function rewriteForms(options: LoadOptions, edits: readonly FormEdit[]): Promise<void> {
  try {
    await writeConfigValues(options, edits);
    return;
  } catch (error) {
    if (!(error instanceof SeveralFilesError)) throw error;
  }
  const left = new Map<string, string>();
  for (;;) {
    const { value } = await readConfigSource(options);
    const form = formsIn(value).find(({ path }) => !left.has(showPath(path)));
    if (!form) break;
    try {
      await writeConfigValues(options, form.edits);
    } catch (error) {
      if (!(error instanceof SeveralFilesError)) throw error;
      left.set(showPath(form.path), error.message);
    }
  }
  const [first] = left.values();
  if (first === undefined) return;
  throw new OpenClawError("USAGE", {
    message: `${[...left.keys()].join(", ")} could not be rewritten. ${first}`,
    fix: "Edit the files that have these keys.",
  });
}

/**
 * A sentence that names the file before the last change of the gateway or a command; empty when there is no such file.
 */
async function wayBack(path: string): Promise<string | undefined> {
  const before = `${path}.bak`;
  return (await exists(before)) ? `The file before the last change is ${before}.` : undefined;
}
