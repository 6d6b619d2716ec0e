import { prepend, type AttachedFile, type BodyStage, type MissingFile } from "../draft.ts";

const SEND_BACK =
  "To send an image back, prefer the message tool: give it the file as media, path or filePath. A path written " +
  "into your answer is only text to the user.";

// A file's name is the sender's: it must not close the bracket or begin a line.
function plain(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}\u2028\u2029]+/gu, " ")
    .replaceAll("[", "(")
    .replaceAll("]", ")");
}

function factsOf(file: AttachedFile | MissingFile, kind?: string): string {
  const length = file.durationSeconds === undefined ? undefined : `${Math.round(file.durationSeconds)} s`;
  const facts = [kind, file.mime, length].filter((fact) => fact !== undefined);
  return facts.length === 0 ? "" : ` (${plain(facts.join(", "))})`;
}

const quotedOf = ({ quoted }: AttachedFile | MissingFile): string =>
  quoted === true ? " | of the replied message" : "";

function describe(file: AttachedFile): string {
  const about = factsOf(file);
  const url = file.url === undefined ? "" : ` | ${plain(file.url)}`;
  return `${plain(file.path)}${about}${url}${quotedOf(file)}`;
}

function missingLine(file: MissingFile): string {
  const { name, kind, why } = file;
  const what = name === undefined ? `${kind}${factsOf(file)}` : `${plain(name)}${factsOf(file, kind)}`;
  return `[media not available: ${what}${quotedOf(file)}: ${plain(why)}]`;
}

function noteLines(files: readonly AttachedFile[]): string[] {
  if (files.length === 0) return [];
  const [first] = files;
  if (files.length === 1 && first !== undefined) {
    return [`[media attached: ${describe(first)}]`];
  }
  const each = files.map((file, index) => `[media attached ${index + 1}/${files.length}: ${describe(file)}]`);
  return [`[media attached: ${files.length} files]`, ...each];
}

/** Lists the attached files, and those that are not available. Transcribed speech is left out. */
export const mediaNotes: BodyStage = {
  name: "mediaNotes",
  source: "the message's files",
  apply(draft, context) {
    const files = context.media.filter((file) => file.transcribed !== true);
    const lines = [...noteLines(files), ...(context.missing ?? []).map(missingLine)];
    const hint = files.length > 0 && context.hasMessageTool() ? [SEND_BACK] : [];
    return prepend(draft, [...lines, ...hint].join("\n"));
  },
};
