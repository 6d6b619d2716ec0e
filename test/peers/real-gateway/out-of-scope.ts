import { readFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = join(import.meta.dirname, "../../../docs/reference/protocol.md");
const HEADING = "### Methods out of scope\n";

/** Methods that this gateway does not serve on purpose: exact names, or `<beginning>.*`. */
interface Family {
  readonly names: readonly string[];
  readonly reason: string;
}

/** The table of docs/reference/protocol.md. */
export function readOutOfScope(): readonly Family[] {
  const [, part = ""] = readFileSync(PAGE, "utf8").split(HEADING);
  const [table = ""] = part.split(/^#/m);
  return [...table.matchAll(/^\| (`.+`) \| (.+) \|$/gm)].map(([, names = "", reason = ""]) => ({
    names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
    reason,
  }));
}

/** Why a method is not served; undefined when it should be. */
export function reasonFor(method: string, families: readonly Family[]): string | undefined {
  const covers = (name: string) => (name.endsWith(".*") ? method.startsWith(name.slice(0, -1)) : method === name);
  return families.find(({ names }) => names.some(covers))?.reason;
}
