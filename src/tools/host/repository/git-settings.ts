const words = (names: string, value: string): RegExp => new RegExp(`^(?:${names})\\s*=\\s*${value}$`, "i");

const URL = String.raw`(?!.*::)[\w/.~@:%+-]+`;
const SWITCH = "[a-z0-9-]+";
const REF = String.raw`[\w./-]+`;

/**
 * Settings that make Git run nothing: settings that `git init`, `git clone` and editors write, and common wishes of
 * people.
 */
const HARMLESS: Readonly<Record<string, readonly RegExp[]>> = {
  core: [
    words("repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks", "[a-z0-9]+"),
    words("autocrlf|eol|safecrlf|quotepath|longpaths|untrackedcache", "[a-z0-9]+"),
  ],
  user: [/^(?:name|email)\s*=\s*[\p{L}\p{N} .,@_+'-]*$/iu],
  remote: [
    words("url|pushurl", URL),
    words("fetch", String.raw`\+?refs\/[\w/.*-]+:refs\/[\w/.*-]+`),
    words("prune|gh-resolved", SWITCH),
  ],
  branch: [
    words("remote|pushremote", REF),
    words("merge", `refs/${REF}`),
    words("rebase", "[a-z]+"),
    words("vscode-merge-base|gh-merge-base", REF),
  ],
  init: [words("defaultbranch", REF)],
  submodule: [words("active", "[a-z]+"), words("url", URL)],
  pull: [words("rebase|ff", SWITCH)],
  push: [words("default|autosetupremote|followtags", SWITCH)],
  fetch: [words("prune|prunetags", SWITCH)],
  merge: [words("ff|conflictstyle", SWITCH)],
  rebase: [words("autostash|autosquash", SWITCH)],
  diff: [words("algorithm|renames|colormoved|noprefix|mnemonicprefix", SWITCH)],
  color: [words("ui|status|branch|diff", SWITCH)],
};
const HEADER = /^\[([a-z]+)(?: "([\w./-]+)")?\]$/i;

interface Line {
  readonly section: string;
  readonly text: string;
}

function* linesOf(config: string): Generator<Line> {
  let section = "";
  for (const line of config.split("\n")) {
    const text = line.trim();
    if (text.startsWith("[")) section = text;
    if (text !== "") yield { section, text };
  }
}

const keyOf = ({ section, text }: Line): string => `${section}\n${text}`;

/** Characters of a config that is not read: a line that continues in the next one could mean something else there. */
const ODD = /[\\\r\0]/;

/**
 * Whether Git may obey a changed config: each of its settings runs nothing, or was there before. A line that is not
 * understood counts as one that runs a program. Pure.
 */
export function isHarmless(config: string, before = ""): boolean {
  if (ODD.test(config)) return config === before;
  const known = new Set([...linesOf(before)].map(keyOf));
  return [...linesOf(config)].every((line) => isHarmlessLine(line) || known.has(keyOf(line)));
}

function isHarmlessLine({ section, text }: Line): boolean {
  const name = HEADER.exec(section)?.[1]?.toLowerCase();
  if (name === undefined || !Object.hasOwn(HARMLESS, name)) return false;
  return text === section || HARMLESS[name]?.some((rule) => rule.test(text)) === true;
}

/** The first setting that may make Git run a program, as `core.fsmonitor`; undefined when there is none. Pure. */
export function riskyIn(config: string): string | undefined {
  if (isHarmless(config)) return undefined;
  const lines = ODD.test(config) ? [] : [...linesOf(config)].filter((one) => !isHarmlessLine(one));
  const line = lines.find(({ section, text }) => text !== section);
  const section = HEADER.exec(line?.section ?? "")?.[1];
  const key = /^([a-z][a-z0-9-]{0,40})\s*(?:=|$)/i.exec(line?.text ?? "")?.[1];
  return section === undefined || key === undefined ? "a line that is not understood" : `${section}.${key}`;
}

/** The addresses that a config names, and the remotes that it defines. `config` is harmless. Pure. */
export function remotesIn(config: string): {
  readonly names: ReadonlySet<string>;
  readonly addresses: readonly string[];
} {
  const names = new Set<string>();
  const addresses: string[] = [];
  const used: string[] = [];
  for (const { section, text } of linesOf(config)) {
    const [, kind = "", name = ""] = HEADER.exec(section) ?? [];
    const [key = "", value = ""] = text.split(/\s*=\s*(.*)/);
    if (kind.toLowerCase() === "remote" && name !== "") names.add(name);
    if (/^(?:url|pushurl)$/i.test(key)) addresses.push(value);
    if (/^(?:remote|pushremote)$/i.test(key)) used.push(value);
  }
  // A branch may name an address where a remote is expected.
  return { names, addresses: [...addresses, ...used.filter((name) => name !== "." && !names.has(name))] };
}
