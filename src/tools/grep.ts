import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import type { Tool } from "../types/tool.ts";
import { CONTENT_BYTES } from "./cap.ts";
import { defineTool, textResult } from "./define.ts";
import { shownPath, type FileAccess } from "./paths.ts";
import { searchFiles } from "./ripgrep.ts";

const MAX_MATCHES = 100;
const MAX_COLUMNS = 500;

const input = z.object({
  pattern: z.string().min(1).describe("Regular expression (Rust syntax), or plain text with literal"),
  path: z.string().default(".").describe("File or directory; the workspace when left out"),
  glob: z.string().min(1).optional().describe("Only files that match, such as *.ts"),
  ignoreCase: z.boolean().optional(),
  literal: z.boolean().optional().describe("Take the pattern as plain text"),
  context: z.int().min(0).max(20).optional().describe("Lines to show around each match"),
  limit: z.int().min(1).max(MAX_MATCHES).default(MAX_MATCHES).describe("Most matches"),
});

const bytesOrText = z.object({ text: z.string() });
const event = z.object({
  type: z.enum(["match", "context"]),
  data: z.object({ path: bytesOrText, lines: bytesOrText, line_number: z.number() }),
});

interface FoundLine {
  readonly path: string;
  readonly number: number;
  readonly text: string;
  readonly isMatch: boolean;
}

function parseLine(line: string, cwd: string): FoundLine | undefined {
  const parsed = event.safeParse(JSON.parse(line));
  if (!parsed.success) {
    return undefined;
  }
  const { type, data } = parsed.data;
  const [text = ""] = data.lines.text.split(/\r?\n/);
  const shown = text.length > MAX_COLUMNS ? `${text.slice(0, MAX_COLUMNS)}…` : text;
  return { path: resolve(cwd, data.path.text), number: data.line_number, text: shown, isMatch: type === "match" };
}

function searchArgs(wanted: z.output<typeof input>, target: string): readonly string[] {
  return [
    "--json",
    "--hidden",
    "--glob=!.git",
    "--glob=!.openclaw/output",
    ...(wanted.glob === undefined ? [] : [`--glob=${wanted.glob}`]),
    ...(wanted.ignoreCase === true ? ["--ignore-case"] : []),
    ...(wanted.literal === true ? ["--fixed-strings"] : []),
    ...(wanted.context === undefined ? [] : [`--context=${wanted.context}`]),
    `--regexp=${wanted.pattern}`,
    "--",
    target,
  ];
}

/** Searches text in files. */
export function grepTool(access: FileAccess): Tool {
  return defineTool({
    name: "grep",
    label: "Grep",
    description: "Search text in files, at most 100 matches. Skips what .gitignore names, and .git.",
    input,
    hasSideEffects: false,
    async run(wanted, context) {
      const target = await access.locate(wanted.path, context.workspace, "read");
      await stat(target);
      const isOpen = await access.openPaths();
      const lines: string[] = [];
      let matches = 0;
      let bytes = 0;
      const take = (line: string): boolean => {
        const found = parseLine(line, context.workspace);
        if (found === undefined || !isOpen(found.path)) {
          return true;
        }
        const mark = found.isMatch ? ":" : "-";
        const text = `${shownPath(found.path, context.workspace)}${mark}${found.number}${mark} ${found.text}`;
        matches += Number(found.isMatch);
        bytes += Buffer.byteLength(text) + 1;
        if (matches > wanted.limit || bytes > CONTENT_BYTES) {
          lines.push("[There is more; narrow the search.]");
          return false;
        }
        lines.push(text);
        return true;
      };
      const cwd = context.workspace;
      await searchFiles({ args: searchArgs(wanted, target), cwd, signal: context.signal, take });
      return textResult(lines.join("\n") || "[Nothing found.]");
    },
  });
}
