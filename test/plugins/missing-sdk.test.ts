import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sdkUrls } from "../../src/app/plugins/sdk-urls.ts";
import { missingSdk } from "../../src/plugins/load/missing-sdk.ts";

/** A folder with these files. */
function folder(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "missing-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

test("modules and exports that a plugin would import later are found, each with its file", async () => {
  const root = folder({
    "index.js": `
      export const a = () => import("openclaw/plugin-sdk/time-travel");
      export const b = async () => { const { delegateCompactionToRuntime, warp: w, ...rest } = await import("openclaw/plugin-sdk/core"); };
      export const c = async () => (await import("openclaw/plugin-sdk/core")).unknownToCore();`,
    "dist/old.cjs": `exports.d = () => require('openclaw/plugin-sdk/hyperspace').jump();
      const { redactSensitiveText } = require("openclaw/plugin-sdk/logging-core");
      const names = [\`openclaw/plugin-sdk/in-a-list\`, "openclaw/plugin-sdk/time-travel"];`,
  });
  expect((await missingSdk(root, sdkUrls())).toSorted()).toEqual([
    '"unknownToCore" of openclaw/plugin-sdk/core (index.js)',
    '"warp" of openclaw/plugin-sdk/core (index.js)',
    "openclaw/plugin-sdk/hyperspace (dist/old.cjs)",
    "openclaw/plugin-sdk/in-a-list (dist/old.cjs)",
    "openclaw/plugin-sdk/time-travel (dist/old.cjs)",
  ]);
});

test("types, comments, tests and the code of others are not searched", async () => {
  const root = folder({
    "index.ts": `
      import type { Warp } from "openclaw/plugin-sdk/only-types";
      export type { Other } from "openclaw/plugin-sdk/only-types";
      // import("openclaw/plugin-sdk/in-a-comment")
      /* require("openclaw/plugin-sdk/in-a-comment") */
      import { delegateCompactionToRuntime } from "openclaw/plugin-sdk/core";
      void import("openclaw/plugin-sdk/core.js").then((core) => core);
      void import("openclaw/plugin-sdk-of-others/x");`,
    "index.d.ts": `import("openclaw/plugin-sdk/of-a-declaration")`,
    "test/index.test.ts": `import("openclaw/plugin-sdk/of-a-test")`,
    "node_modules/other/index.js": `import("openclaw/plugin-sdk/of-a-dependency")`,
  });
  expect(await missingSdk(root, sdkUrls())).toEqual([]);
});
