/** Settings that make Git run nothing: those that `git init`, `git clone` and `git config user.name` write. */
const HARMLESS: Readonly<Record<string, RegExp>> = {
  core: /^(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)\s*=\s*[a-z0-9]+$/i,
  user: /^(?:name|email)\s*=\s*[\p{L}\p{N} .,@_+'-]*$/iu,
  remote: /^(?:url\s*=\s*(?!.*::)[\w/.~@:%+-]+|fetch\s*=\s*\+?refs\/[\w/.*-]+:refs\/[\w/.*-]+)$/i,
  branch: /^(?:remote\s*=\s*[\w./-]+|merge\s*=\s*refs\/[\w./-]+|rebase\s*=\s*[a-z]+)$/i,
  init: /^defaultbranch\s*=\s*[\w./-]+$/i,
};
const HEADER = /^\[([a-z]+)(?: "[\w./-]+")?\]$/i;

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

/**
 * Whether Git may obey a config that somebody changed: each setting is one that runs nothing, or was there before. A line that this
 * does not understand counts as one that runs something. Pure.
 */
export function isHarmless(config: string, before = ""): boolean {
  // A line that continues in the next one could mean something else there.
  if (/[\\\r\0]/.test(config)) return config === before;
  const known = new Set([...linesOf(before)].map(keyOf));
  return [...linesOf(config)].every((line) => isHarmlessLine(line) || known.has(keyOf(line)));
}

function isHarmlessLine({ section, text }: Line): boolean {
  const name = HEADER.exec(section)?.[1]?.toLowerCase();
  if (name === undefined || !Object.hasOwn(HARMLESS, name)) return false;
  return text === section || HARMLESS[name]?.test(text) === true;
}
