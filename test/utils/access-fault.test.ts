import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { faultOf } from "../../src/utils/access-fault.ts";

/** The answer to a refusal of the system, which tests of a superuser do not get. */
const faultAt = (path: string) => faultOf(Object.assign(new Error("EACCES: refused"), { code: "EACCES", path }));

test("the fix opens what is closed: the file, the directory that lets nothing of it be replaced, or the one above", async () => {
  const dir = mkdtempSync(join(tmpdir(), "oc-access-"));
  const inner = join(dir, "inner");
  onTestFinished(() => {
    chmodSync(inner, 0o700);
    rmSync(dir, { recursive: true });
  });
  mkdirSync(inner);
  const file = join(inner, "file");
  writeFileSync(file, "x", { mode: 0o400 });
  expect(await faultAt(file)).toMatchObject({ path: file, fix: `Run: chmod 600 ${file}`, mode: 0o600 });
  chmodSync(file, 0o600);
  expect(await faultAt(file)).toMatchObject({ why: "the system refuses it (EACCES)" });
  chmodSync(inner, 0o500);
  for (const path of [file, join(inner, "new"), join(inner, "new", "deeper")])
    expect(await faultAt(path)).toMatchObject({ path, fix: `Run: chmod 700 ${inner}` });
});
