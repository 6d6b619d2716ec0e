/** A piece of code with its kind, which has a colour; code without a kind is shown plainly. */
export interface CodePiece {
  readonly text: string;
  readonly kind?: CodeKind;
}
export type CodeKind = "comment" | "string" | "number" | "keyword" | "name";

/** Of longer code the colours would cost more than they help. */
const MOST_CHARS = 40_000;

interface Grammar {
  /** Sources of patterns. */
  readonly comments: readonly string[];
  readonly strings: readonly string[];
  readonly keywords: ReadonlySet<string>;
  /** Names that a pattern finds, such as those of tags and keys. */
  readonly names?: string;
  /** Keywords in any case. */
  readonly isCaseless?: boolean;
}

// What looks ahead or behind has an end: on a long line it would look at all of it from each of its signs.
const DOUBLE = String.raw`"(?:\\.|[^"\\\n])*"?`;
const SINGLE = String.raw`'(?:\\.|[^'\\\n])*'?`;
const BACKTICK = "`(?:\\\\.|[^`\\\\])*`?";
const SLASHES = String.raw`\/\/[^\n]*`;
const STARS = String.raw`\/\*[\s\S]*?(?:\*\/|$)`;
const HASH = String.raw`(?<![\w$])#[^\n]*`;

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const C_WORDS =
  "auto break case catch char class const constexpr continue default delete do double else enum explicit export extern false final finally float for friend goto if implements import inline instanceof int interface long namespace new null nullptr operator override package private protected public return short signed sizeof static struct super switch template this throw throws true try typedef typename union unsigned using var virtual void volatile while bool boolean byte record sealed string foreach in is as async await get set yield";

const c = (keywords: string): Grammar => ({
  comments: [SLASHES, STARS],
  strings: [DOUBLE, SINGLE],
  keywords: words(keywords),
});

const GRAMMARS: Readonly<Record<string, Grammar>> = {
  script: {
    comments: [SLASHES, STARS],
    strings: [DOUBLE, SINGLE, BACKTICK],
    keywords: words(
      "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let module namespace never new null number of private protected public readonly return satisfies set static string super switch symbol this throw true try type typeof undefined unknown var void while with yield",
    ),
  },
  python: {
    comments: [HASH],
    strings: [String.raw`"""[\s\S]*?(?:"""|$)`, String.raw`'''[\s\S]*?(?:'''|$)`, DOUBLE, SINGLE],
    keywords: words(
      "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield",
    ),
  },
  shell: {
    comments: [HASH],
    strings: [DOUBLE, String.raw`'[^']*'?`],
    keywords: words(
      "if then else elif fi for while until do done case esac in function return local export readonly declare set unset source exit trap select time echo cd sudo",
    ),
    names: String.raw`\$\{?[\w@#?!*-]+\}?|(?<=\s)--?[A-Za-z][\w-]*`,
  },
  json: {
    comments: [SLASHES, STARS],
    strings: [DOUBLE],
    keywords: words("true false null"),
    names: String.raw`"(?:\\.|[^"\\\n])*"(?=\s*:)`,
  },
  yaml: {
    comments: [HASH],
    strings: [DOUBLE, SINGLE],
    keywords: words("true false null yes no on off"),
    names: String.raw`(?<=^[ \t-]{0,80})[\w.$/-]{1,80}(?=:(?:\s|$))`,
  },
  ini: {
    comments: [HASH, String.raw`(?<=^[ \t]{0,80});[^\n]*`],
    strings: [DOUBLE, SINGLE],
    keywords: words("true false"),
    names: String.raw`(?<=^[ \t]{0,80})(?:\[[^\]\n]*\]+|[\w.-]{1,80}(?=[ \t]{0,80}=))`,
  },
  markup: {
    comments: [String.raw`<!--[\s\S]*?(?:-->|$)`],
    strings: [String.raw`(?<==\s*)"[^"]*"?`, String.raw`(?<==\s*)'[^']*'?`],
    keywords: words(""),
    names: String.raw`<\/?[A-Za-z][\w:.-]*|\/?>`,
  },
  css: {
    comments: [STARS],
    strings: [DOUBLE, SINGLE],
    keywords: words("important media import supports layer container from to and not only"),
    names: String.raw`(?:--)?[a-z-]{1,80}(?=\s{0,80}:[^{}\n]{0,200}[;}\n])|[.#][A-Za-z_][\w-]*`,
  },
  sql: {
    comments: [String.raw`--[^\n]*`, STARS],
    strings: [SINGLE, DOUBLE],
    keywords: words(
      "add all alter and as asc begin between by case check column commit constraint create cross database default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then transaction union unique update values view when where with",
    ),
    isCaseless: true,
  },
  c: c(C_WORDS),
  go: {
    ...c(
      "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var string int error bool byte rune",
    ),
    strings: [DOUBLE, SINGLE, BACKTICK],
  },
  rust: {
    ...c(
      "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
    ),
    // A lone quote begins a lifetime.
    strings: [DOUBLE, String.raw`'(?:\\[^']+|[^'\\\n])'`],
  },
  ruby: {
    comments: [HASH],
    strings: [DOUBLE, SINGLE],
    keywords: words(
      "alias and begin break case class def do else elsif end ensure false for if in module next nil not or private protected public raise redo require rescue retry return self super then true unless until when while yield local function repeat",
    ),
  },
  php: {
    ...c(`${C_WORDS} echo function fn use require include array abstract extends`),
    comments: [SLASHES, STARS, HASH],
    names: String.raw`\$\w+`,
  },
};

const NAMES: Readonly<Record<string, string>> = {
  js: "script",
  javascript: "script",
  jsx: "script",
  mjs: "script",
  cjs: "script",
  ts: "script",
  typescript: "script",
  tsx: "script",
  py: "python",
  python: "python",
  sh: "shell",
  bash: "shell",
  zsh: "shell",
  shell: "shell",
  console: "shell",
  fish: "shell",
  dockerfile: "shell",
  makefile: "shell",
  json: "json",
  jsonc: "json",
  json5: "json",
  yaml: "yaml",
  yml: "yaml",
  toml: "ini",
  ini: "ini",
  conf: "ini",
  env: "ini",
  html: "markup",
  xml: "markup",
  svg: "markup",
  vue: "markup",
  css: "css",
  scss: "css",
  less: "css",
  sql: "sql",
  c: "c",
  h: "c",
  cpp: "c",
  "c++": "c",
  cs: "c",
  csharp: "c",
  java: "c",
  kotlin: "c",
  swift: "c",
  dart: "c",
  scala: "c",
  go: "go",
  rust: "rust",
  rs: "rust",
  ruby: "ruby",
  rb: "ruby",
  lua: "ruby",
  elixir: "ruby",
  php: "php",
};

/** The code in pieces, whose texts together are the code. Code in a language that is not known is one piece. Pure. */
export function highlighted(code: string, language: string): readonly CodePiece[] {
  const [word = ""] = language.toLowerCase().split(/[\s,{]/);
  if (code.length > MOST_CHARS) return [{ text: code }];
  if (word === "diff" || word === "patch") return diffPieces(code);
  const grammar = Object.hasOwn(NAMES, word) ? GRAMMARS[NAMES[word] ?? ""] : undefined;
  return grammar === undefined ? [{ text: code }] : piecesOf(code, grammar);
}

function piecesOf(
  code: string,
  { comments, strings, keywords, names, isCaseless = false }: Grammar,
): readonly CodePiece[] {
  const parts = [
    `(?<comment>${comments.join("|")})`,
    ...(names === undefined ? [] : [`(?<name>${names})`]),
    `(?<string>${strings.join("|")})`,
    String.raw`(?<number>(?<![\w$])(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)[a-z%]*)`,
    String.raw`(?<word>[A-Za-z_$][\w$]*)`,
  ];
  const pattern = new RegExp(parts.join("|"), "gm");
  const pieces: CodePiece[] = [];
  let done = 0;
  for (const { 0: text, index, groups = {} } of code.matchAll(pattern)) {
    const kind = kindOf(groups, keywords, isCaseless);
    if (kind === undefined || text === "") continue;
    if (index > done) pieces.push({ text: code.slice(done, index) });
    pieces.push({ text, kind });
    done = index + text.length;
  }
  return done === code.length ? pieces : [...pieces, { text: code.slice(done) }];
}

function kindOf(
  groups: Readonly<Record<string, string | undefined>>,
  keywords: ReadonlySet<string>,
  isCaseless: boolean,
): CodeKind | undefined {
  const { comment, name, string, number, word } = groups;
  if (word !== undefined) return keywords.has(isCaseless ? word.toLowerCase() : word) ? "keyword" : undefined;
  if (comment !== undefined) return "comment";
  if (name !== undefined) return "name";
  if (string !== undefined) return "string";
  return number === undefined ? undefined : "number";
}

const diffPieces = (code: string): readonly CodePiece[] =>
  code.split(/(?<=\n)/).map((text): CodePiece => {
    if (/^(?:@@|diff |index |--- |\+\+\+ )/.test(text)) return { text, kind: "comment" };
    if (text.startsWith("+")) return { text, kind: "string" };
    return text.startsWith("-") ? { text, kind: "keyword" } : { text };
  });
