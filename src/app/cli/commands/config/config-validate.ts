import { NO_EFFECT } from "../../../config/check.ts";
import { loadConfig } from "../../../config/load.ts";
import { REWRITES } from "../../../config/old-forms.ts";
import { ConfigError, type ConfigNote } from "../../../config/schema/problem.ts";
import { writeJson, type Io } from "../../io.ts";
import { loadOptions } from "../../state.ts";

/** Checks the file. Throws its `ConfigError` (exit code 78); with `json` it is printed instead. */
export async function configValidate(io: Io, options: { json?: boolean }): Promise<number> {
  const { load } = await loadOptions(io);
  try {
    const { exists, warnings } = await loadConfig(load);
    if (options.json === true) writeJson(io, { valid: true, path: load.path, exists, problems: [], warnings });
    else {
      for (const line of linesOf(warnings)) io.err(`${line}\n`);
      const but = warnings.some(({ isStop }) => isStop === true) ? ", but stops what the warnings above name" : "";
      io.out(exists ? `${load.path} is valid${but}.\n` : `There is no ${load.path}: all defaults.\n`);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError) || options.json !== true) throw error;
    const { code, message, fix, problems } = error;
    writeJson(io, { valid: false, path: load.path, code, message, fix, problems, warnings: [] });
    return 78;
  }
}

/** Kinds of warnings of which a config may have dozens, and the headline of their list. */
const LISTS: readonly (readonly [end: string, head: (count: number) => string])[] = [
  [`: ${NO_EFFECT}`, (count) => `${count} keys are known from OpenClaw and have no effect here:`],
  [REWRITES, (count) => `${count} keys are written as other versions do; openclaw doctor --fix rewrites them:`],
];

/** Most warnings of one kind that are lines of their own. */
const MOST_LINES = 3;

/** The warnings in the order of their lines: long lists of one kind first, what stops something last. */
function linesOf(warnings: readonly ConfigNote[]): readonly string[] {
  const sorted = warnings.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
  const lists = LISTS.map(([end, head]) => ({ end, head, notes: sorted.filter(({ text }) => text.endsWith(end)) }));
  const long = lists.filter(({ notes }) => notes.length > MOST_LINES);
  const listed = new Set(long.flatMap(({ notes }) => notes));
  const others = sorted.filter((note) => !listed.has(note));
  const [stops, plain] = [others.filter(({ isStop }) => isStop), others.filter(({ isStop }) => !isStop)];
  return [
    ...long.flatMap(({ end, head, notes }) => [
      head(notes.length),
      ...notes.map(({ text }) => `  ${text.slice(0, -end.length)}`),
      "",
    ]),
    ...[...plain, ...stops].map(({ text }) => `warning: ${text}`),
  ];
}
