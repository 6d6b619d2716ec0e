import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hookFacts, isHookName } from "../../src/types/hook/hook-table.ts";

it("docs/reference/plugins.md says of each hook whether it is called, and whether it reads conversations", () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/reference/plugins.md"), "utf8");
  const section = text.slice(text.indexOf("## Hooks"), text.indexOf("## Modules"));
  const rows = [...section.matchAll(/^\| `(\w+)` \| (\w+) \| (\w+) \|/gm)].map(([, name = "", kind, reads]) => [
    name,
    kind,
    reads,
  ]);
  const told = rows.filter(([name = ""]) => isHookName(name) && hookFacts(name).isNeverCalled !== true);
  expect(told).toEqual(rows);
  for (const [name = "", kind, reads] of rows) {
    if (!isHookName(name)) throw new Error(name);
    expect([name, hookFacts(name).kind, hookFacts(name).readsConversations === true]).toEqual([
      name,
      kind,
      reads === "yes",
    ]);
  }
  const never = section.slice(section.indexOf("never called")).match(/`\w+`/g) ?? [];
  expect(never.length + rows.length).toBe(42 + 1);
});
