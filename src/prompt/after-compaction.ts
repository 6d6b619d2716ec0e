import { relative, resolve, sep } from "node:path";
import { isInside } from "../utils/real-path.ts";

export interface SectionLimits {
  /** Headings, in any case of letters. */
  readonly sections: readonly string[];
  /** UTF-16 units of the sections' text. */
  readonly maxChars: number;
}

/** The sections of `AGENTS.md` that are repeated after a compaction. Undefined when there are none. */
export function sectionsReminder(agentsFile: string | undefined, limits: SectionLimits): string | undefined {
  const found = limits.sections.flatMap((name) => sectionOf(agentsFile ?? "", name) ?? []);
  if (found.length === 0 || limits.maxChars === 0) return undefined;
  const whole = found.join("\n\n");
  const text =
    whole.length <= limits.maxChars
      ? whole
      : `${whole.slice(0, limits.maxChars).toWellFormed()}\n[... the rest is in AGENTS.md]`;
  return `The older part of the conversation has just become a summary. From AGENTS.md, which still holds:\n${text}`;
}

const HEADING = /^(?<marks>#{1,6})[ \t]+(?<title>.*?)[ \t]*#*[ \t]*$/;

interface Line {
  readonly text: string;
  /** 1 to 6 for a heading, 0 for other lines. */
  readonly depth: number;
  readonly title: string;
}

/** A heading with everything below it, up to the next heading of its level. */
function sectionOf(markdown: string, name: string): string | undefined {
  const wanted = name.trim().toLowerCase();
  const lines = linesOf(markdown);
  const from = lines.findIndex(({ depth, title }) => depth > 0 && title.toLowerCase() === wanted);
  const heading = lines[from];
  if (!heading) return undefined;
  const after = lines.slice(from + 1);
  const end = after.findIndex(({ depth }) => depth > 0 && depth <= heading.depth);
  const own = [heading, ...(end < 0 ? after : after.slice(0, end))];
  return own
    .map(({ text }) => text)
    .join("\n")
    .trim();
}

/** A line in a code block is no heading. */
function linesOf(markdown: string): readonly Line[] {
  let isCode = false;
  return markdown.split(/\r?\n/).map((text) => {
    if (/^\s{0,3}(```|~~~)/.test(text)) isCode = !isCode;
    const { marks = "", title = "" } = (isCode ? undefined : HEADING.exec(text)?.groups) ?? {};
    return { text, depth: marks.length, title };
  });
}

/** The most file names on one line. */
const MOST_NAMES = 20;

/**
 * Names the files whose contents were in the older part of a conversation. Undefined when none did. `inPrompt` are the
 * workspace's files that every request has.
 */
export function readAudit(
  lost: readonly string[],
  { workspace, inPrompt }: { readonly workspace: string; readonly inPrompt: readonly string[] },
): string | undefined {
  const shown = new Set(inPrompt.map((name) => resolve(workspace, name)));
  const paths = [...new Set(lost.map((path) => resolve(workspace, path)))].filter((path) => !shown.has(path));
  const names = paths.filter((path) => isOwn(path, workspace)).map((path) => shortName(path, workspace));
  if (names.length === 0) return undefined;
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  const list = names.slice(0, MOST_NAMES).join(", ");
  return `The contents of these files, read earlier, went with the older part of the conversation: ${list}${more}. Read them again before you rely on them.`;
}

/** Files of the workspace, and skills anywhere. */
const isOwn = (path: string, workspace: string): boolean =>
  isInside(path, workspace) || path.endsWith(`${sep}SKILL.md`);

const shortName = (path: string, workspace: string): string =>
  // A name may hold anything; it must not begin a line of its own.
  (isInside(path, workspace) ? relative(workspace, path) : path).replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
