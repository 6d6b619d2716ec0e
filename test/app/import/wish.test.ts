import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lastImport, noteImportEnd, takeImportWish, wishImport } from "../../../src/app/gateway/import/moving-in.ts";
import { resolvePaths } from "../../../src/app/config/paths.ts";
import { stateDir } from "../../kit/gateway/cli.ts";

test("an import that is cut by a kill is told of, not begun again by itself, until one has an end", async () => {
  const dir = stateDir("{}");
  mkdirSync(join(dir, "state"));
  const paths = resolvePaths({ OPENCLAW_STATE_DIR: dir });
  expect([await takeImportWish(paths), await lastImport(paths)]).toEqual([undefined, undefined]);
  await wishImport(paths, "/home/ada/.openclaw");
  expect(await takeImportWish(paths)).toBe("/home/ada/.openclaw");
  // The process is killed here.
  expect(await lastImport(paths)).toMatchObject({
    dir: "/home/ada/.openclaw",
    error: expect.stringContaining("ended meanwhile"),
  });
  expect(await takeImportWish(paths)).toBeUndefined();
  await noteImportEnd(paths, { dir: "/home/ada/.openclaw", at: 2, warnings: [], kinds: [], channelsOff: false });
  expect((await lastImport(paths))?.error).toBeUndefined();
});
