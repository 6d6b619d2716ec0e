import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** `src/app/contributions/bundled.ts`: the contributors among `extensions/`, each folder with a `plugin.ts`. */
export function bundledList(root: string): string {
  const ids = readdirSync(join(root, "extensions"))
    .filter((id) => existsSync(join(root, "extensions", id, "plugin.ts")))
    .toSorted();
  const imports = ids.map(
    (id) => `import { contributor as ${nameOf(id)} } from "../../../extensions/${id}/plugin.ts";`,
  );
  return `// Made by scripts/docs/generate.ts from the folders of extensions/.
${imports.join("\n")}
import type { Contributor } from "../../types/contribution.ts";

/** The extensions that come with the gateway. */
export const BUNDLED: readonly Contributor[] = [
${ids.map((id) => `  ${nameOf(id)},`).join("\n")}
];
`;
}

/** The id of an extension as a name of JavaScript, such as `contextWindow`. */
const nameOf = (id: string): string => id.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
