/** A simple command of a list or pipeline. */
export interface SimpleCommand {
  /** The text as it was typed, trimmed. */
  readonly source: string;
  /** The command's words without quotes. */
  readonly words: readonly string[];
}

// Only characters that mean the same in every shell, so none of `~ * ? [ ] { } ( ) < > & $ \` # ! \` and no line ends.
const TOKEN =
  /(?<blank>[ \t]+)|(?<operator>&&|\|\||[|;])|(?<word>(?:[A-Za-z0-9_./,:@%+=-]|'[^'\n\r]*'|"[^"$`\\!\n\r]*")+)/uy;

const isBlank = (char: string | undefined): boolean => char === " " || char === "\t" || char === "\n";

/** The command without the blanks around it that a shell ignores; other invisible characters are part of it. */
export function trimCommand(command: string): string {
  let start = 0;
  let end = command.length;
  while (start < end && isBlank(command[start])) {
    start += 1;
  }
  while (end > start && isBlank(command[end - 1])) {
    end -= 1;
  }
  return command.slice(start, end);
}

function unquote(word: string): string {
  return word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_whole, single?: string, double?: string) => single ?? double ?? "");
}

interface Piece {
  readonly kind: "word" | "operator";
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function pieces(command: string): Piece[] | undefined {
  const found: Piece[] = [];
  let position = 0;
  while (position < command.length) {
    TOKEN.lastIndex = position;
    const match = TOKEN.exec(command);
    if (match === null) {
      return undefined;
    }
    const start = position;
    position = TOKEN.lastIndex;
    const { word, operator } = match.groups ?? {};
    if (word !== undefined) {
      found.push({ kind: "word", text: word, start, end: position });
    } else if (operator !== undefined) {
      found.push({ kind: "operator", text: operator, start, end: position });
    }
  }
  return found;
}

/**
 * The simple commands of a shell line whose meaning is plain: words, quotes without expansion, and `|`, `&&`, `||`, `;`
 * between them. Undefined for any other line — redirections, substitutions, variables, wildcards, background jobs,
 * assignments, several lines, an empty part — since a command that is not understood needs approval.
 */
export function splitCommand(command: string): readonly SimpleCommand[] | undefined {
  const line = trimCommand(command);
  const all = pieces(line);
  if (all === undefined) {
    return undefined;
  }
  const groups: Piece[][] = [[]];
  for (const piece of all) {
    if (piece.kind === "operator") {
      groups.push([]);
    } else {
      groups.at(-1)?.push(piece);
    }
  }
  const commands = groups.map((group) => simpleCommand(group, line));
  return commands.every((one) => one !== undefined) ? commands : undefined;
}

function simpleCommand(words: readonly Piece[], line: string): SimpleCommand | undefined {
  const [first] = words;
  const last = words.at(-1);
  if (first === undefined || last === undefined || /[='"]/.test(first.text)) {
    return undefined;
  }
  return { source: line.slice(first.start, last.end), words: words.map((word) => unquote(word.text)) };
}
