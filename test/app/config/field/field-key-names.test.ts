import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkConfig } from "../../../../src/app/config/check.ts";
import { withPresentForms } from "../../../../src/app/config/old-forms.ts";
import { showPath } from "../../../../src/app/config/schema/problem.ts";
import { bundledContributions, contributedSchemas } from "../../../../src/app/contributions/extensions.ts";

/** All keys of the schema of OpenClaw 2026.9.6; `*` stands for any name, and `[]` for any item of a list. */
const text = readFileSync(join(import.meta.dirname, "fixtures/keys-2026.9.6.txt"), "utf8");

function keys(): readonly (readonly string[])[] {
  const above: string[] = [];
  return (text.match(/[^\s{}]+|[{}]/g) ?? []).flatMap((token, at, all) => {
    if (token === "}") above.pop();
    else if (token === "{") above.push(all[at - 1] ?? "");
    return token === "{" || token === "}" ? [] : [[...above, token]];
  });
}

const nested = ([first, ...rest]: readonly string[]): unknown => {
  if (first === undefined) return {};
  return first === "[]" ? [nested(rest)] : { [first === "*" ? "any" : first]: nested(rest) };
};

test("no key of OpenClaw is taken for a mistyped one", async () => {
  const contributions = bundledContributions();
  const { channelSchemas } = await contributedSchemas(contributions);
  const schemas = { channelSchemas: await channelSchemas(contributions.channels.map(({ id }) => id)) };
  const all = keys();
  expect(all.length).toBeGreaterThan(2000);
  const unknown = all.flatMap((path) => {
    const { problems, warnings } = checkConfig(withPresentForms(nested(path)).value, schemas);
    const found = [...problems, ...warnings].find(({ message }) => /unknown key|unknown to/.test(message));
    return found ? [`${path.join(".")}: ${showPath(found.path)}: ${found.message}`] : [];
  });
  expect(unknown).toEqual([]);
});
