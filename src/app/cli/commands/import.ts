import { importState, type ImportReport, type ImportedItem, type ImportedKind } from "../../import/import.ts";
import { writeJson, type Io } from "../io.ts";
import { startProgress } from "../progress.ts";
import { loadOptions } from "../state.ts";
import { dim } from "../table.ts";
import { withoutTerminalControls } from "../terminal-text.ts";

export interface ImportFlags {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Lines that are printed of one kind; `--json` has all. */
const MOST_LINES = 20;

/** Takes over what a state directory of OpenClaw has. The exit code is 1 when something could not be read or written. */
export async function importCommand(io: Io, from: string | undefined, flags: ImportFlags): Promise<number> {
  const { paths, load } = await loadOptions(io);
  let label = "Reading";
  const progress = startProgress(io, () => label);
  const imported = await importState({
    from,
    paths,
    load,
    env: io.env,
    dryRun: flags.dryRun === true,
    onProgress: (title, done, all) => {
      label = `${title}: ${done} of ${all}`;
    },
  }).finally(() => progress.stop());
  if (flags.json === true) writeJson(io, imported);
  else print(io, imported);
  return imported.unread.length > 0 || imported.kinds.some(({ items }) => items.some(({ state }) => state === "failed"))
    ? 1
    : 0;
}

const ERAS: Readonly<Record<ImportReport["era"], string>> = {
  clawdbot: "from the time of Clawdbot",
  jsonl: "conversations in files",
  mixed: "conversations in files, other state in databases",
  sqlite: "conversations in databases",
};

function print(io: Io, imported: ImportReport): void {
  const { source, target, era, dryRun, warnings, unread, channelsOff, kinds } = imported;
  io.out(`${dryRun ? "Would import" : "Imported"} ${shown(source)} (${ERAS[era]}) into ${target}.
`);
  for (const warning of [...warnings, ...unread])
    io.out(`Warning: ${shown(warning)}
`);
  for (const kind of kinds) printKind(io, kind);
  if (dryRun) io.out("\nNothing was written. Run the same without --dry-run.\n");
  else if (channelsOff)
    io.out("\nChannels stay off until you have stopped the other gateway and run: openclaw onboard --adopt\n");
}

/** Names of files and chats are whatever somebody has chosen: one line of text, without what moves a terminal's cursor. */
const shown = (text: string): string => withoutTerminalControls(text.replaceAll(/\s+/g, " "));

function printKind(io: Io, { title, items, left }: ImportedKind): void {
  if (items.length + left.length === 0) return;
  io.out(`\n${title}: ${countsOf(items, left.length)}\n`);
  const lines = [...items.flatMap(linesOf), ...groups(left)];
  for (const line of lines.slice(0, MOST_LINES)) io.out(`  ${shown(line)}\n`);
  if (lines.length > MOST_LINES) io.out(dim(io, `  and ${lines.length - MOST_LINES} more lines: --json has all\n`));
}

const WORDS: readonly (readonly [ImportedItem["state"], string])[] = [
  ["new", "to be taken"],
  ["taken", "taken"],
  ["there", "there already"],
  ["failed", "failed"],
];

function countsOf(items: readonly ImportedItem[], left: number): string {
  const counted = WORDS.map(([state, word]) => [items.filter((item) => item.state === state).length, word] as const);
  const stays = left + items.filter(({ state }) => state === "left").length;
  const all = [...counted, [stays, "left behind"] as const].filter(([count]) => count > 0);
  return all.map(([count, word]) => `${count} ${word}`).join(", ");
}

/** An item without a remark needs no line of its own. */
function linesOf({ name, state, why, notes }: ImportedItem): readonly string[] {
  if (state === "there") return [];
  const head = why === undefined ? [] : [`${name}: ${state === "failed" ? "failed" : "left behind"}: ${why}`];
  return [...head, ...notes.map((note) => `${name}: ${note}`)];
}

/** What stays behind for one reason is one line. */
function groups(left: ImportedKind["left"]): readonly string[] {
  const names = new Map<string, string[]>();
  for (const { name, why } of left) names.set(why, [...(names.get(why) ?? []), name]);
  return [...names].map(([why, all]) => {
    const some = all.slice(0, 3).join(", ");
    return `${all.length > 3 ? `${some} and ${all.length - 3} more` : some}: left behind: ${why}`;
  });
}
