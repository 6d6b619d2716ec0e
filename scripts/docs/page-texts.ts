import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const CALL = /(?<![\w.])(?:t|rich|said)\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')/g;

/** The texts of the web page in the order of its files, as the JSON of a catalogue: each stands for itself. */
export function pageTexts(root: string): string {
  const page = join(root, "extensions/webchat/page");
  const names = readdirSync(page, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
  const texts = names.toSorted().flatMap((name) => {
    const source = readFileSync(join(page, name), "utf8");
    return [...source.matchAll(CALL)].map(([, double, single = ""]) =>
      double === undefined ? single.replaceAll("\\'", "'") : String(JSON.parse(`"${double}"`)),
    );
  });
  return `${JSON.stringify(Object.fromEntries(texts.map((text) => [text, text])), null, 2)}\n`;
}
