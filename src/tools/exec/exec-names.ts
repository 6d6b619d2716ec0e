const SEPARATORS = new Set(" \t\r\n;|&()<>`{}");
const HAS_SEPARATOR = /[ \t\r\n;|&()<>`{}]/;
const MOST_DEPTH = 3;

interface Lexer {
  word: string;
  /** The quote that is open. */
  quote: "'" | '"' | "";
}

/** The words of a shell text, whatever separates them, without quotes and backslashes. Expands nothing. */
function splitWords(text: string): readonly string[] {
  const words: string[] = [];
  const now: Lexer = { word: "", quote: "" };
  for (let at = 0; at < text.length; at += 1) {
    at = step(text, at, now, words);
  }
  return [...words, now.word].filter((word) => word !== "");
}

/** Reads the character at `at` into `now`. Returns the index of the last character that was read. */
function step(text: string, at: number, now: Lexer, words: string[]): number {
  const char = text.charAt(at);
  if (char === "\\" && now.quote !== "'") {
    now.word += text.charAt(at + 1) === "\n" ? "" : text.charAt(at + 1);
    return at + 1;
  }
  if (char === now.quote) {
    now.quote = "";
  } else if (now.quote === "" && (char === "'" || char === '"')) {
    now.quote = char;
  } else if (now.quote === "" && SEPARATORS.has(char)) {
    words.push(now.word);
    now.word = "";
  } else {
    now.word += char;
  }
  return at;
}

/** Names that a word may contain: after `=`, after a flag's letter, after `@`, between `:` and `,`. */
function partsOf(word: string): readonly string[] {
  const afterEquals = word.includes("=") ? [word.slice(word.indexOf("=") + 1)] : [];
  const afterFlag = /^-[A-Za-z]./.test(word) ? [word.slice(2)] : [];
  const afterAt = word.startsWith("@") ? [word.slice(1)] : [];
  const pieces = /[:,]/.test(word) ? word.split(/[:,]/) : [];
  return [word, ...afterEquals, ...afterFlag, ...afterAt, ...pieces];
}

function expand(name: string, home: string, cwd: string): string {
  return name
    .replace(/^~(?=$|\/)/, () => home)
    .replaceAll(/\$HOME\b/g, () => home)
    .replaceAll(/\$PWD\b/g, () => cwd);
}

/**
 * The command with a dot for each name of the current directory, which is also right after a `cd`; braces would split a
 * word.
 */
const plain = (command: string): string =>
  command.replaceAll(/\$PWD\b|\$\{PWD\}|\$\(\s*pwd\s*\)|`\s*pwd\s*`|~\+(?=\/)/g, ".").replaceAll("${HOME}", "$HOME");

interface Around {
  readonly home: string;
  readonly cwd: string;
}

/** Texts in a command that may name a file, also inside quoted commands. Pure. */
export const fileNamesIn = (command: string, around: Around): readonly string[] => [
  ...new Set([command, plain(command)].flatMap((text) => namesBelow(text, around, 0))),
];

function namesBelow(command: string, { home, cwd }: Around, depth: number): readonly string[] {
  const words = splitWords(command);
  const inside =
    depth < MOST_DEPTH
      ? words
          .filter((word) => word !== command && HAS_SEPARATOR.test(word))
          .flatMap((word) => namesBelow(word, { home, cwd }, depth + 1))
      : [];
  const own = words.flatMap(partsOf).map((name) => expand(name, home, cwd));
  return [...new Set([...own, ...inside])].filter((name) => name !== "" && !name.includes("\0"));
}
