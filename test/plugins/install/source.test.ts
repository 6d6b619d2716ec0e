import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linkSource, parseSource, sourceOfRecord, sourceText } from "../../../src/plugins/install/source.ts";
import { folder } from "../../kit/plugins/sources.ts";

const cwd = "/somewhere";
const where = { cwd, home: "/home/ann" };

test.each([
  ["./toy", { kind: "path", path: "/somewhere/toy" }],
  ["~/toy", { kind: "path", path: "/home/ann/toy" }],
  ["/opt/toy", { kind: "path", path: "/opt/toy" }],
  ["..", { kind: "path", path: "/" }],
  ["toy", { kind: "npm", spec: "toy" }],
  ["toy@1.2.3", { kind: "npm", spec: "toy@1.2.3" }],
  ["@ann/toy@latest", { kind: "npm", spec: "@ann/toy@latest" }],
  ["npm:@ann/toy@^1.2.0", { kind: "npm", spec: "@ann/toy@^1.2.0" }],
  ["git:https://example.com/toy.git#v1", { kind: "git", url: "https://example.com/toy.git", ref: "v1" }],
  ["git+ssh://git@example.com/toy.git", { kind: "git", url: "ssh://git@example.com/toy.git" }],
  ["git:git@example.com:ann/toy.git", { kind: "git", url: "git@example.com:ann/toy.git" }],
  ["git://example.com/toy.git", { kind: "git", url: "git://example.com/toy.git" }],
])("%s", (text, source) => {
  expect(parseSource(text, where)).toEqual(source);
});

test("a folder and an archive are known by what is there", () => {
  const dir = folder();
  mkdirSync(join(dir, "toy"));
  writeFileSync(join(dir, "toy.tgz"), "");
  const here = { cwd: dir, home: dir };
  const path = join(dir, "toy.tgz");
  expect(parseSource("toy", here)).toEqual({ kind: "path", path: join(dir, "toy") });
  expect(parseSource("toy.tgz", here)).toEqual({ kind: "archive", path, hasNpm: false });
  expect(parseSource("npm-pack:toy.tgz", here)).toEqual({ kind: "archive", path, hasNpm: true });
  expect(linkSource("toy", here)).toEqual({ kind: "link", path: join(dir, "toy") });
});

test.each([
  ["clawhub:toy", "marketplace"],
  ["toy.zip", "There is no file"],
  ["toy.tgz", "There is no file"],
  ["npm-pack:toy.tgz", "There is no file"],
  ["npm:--registry=http://evil", "neither a path"],
  ["npm:--workspaces", "neither a path"],
  ["npm:file:../toy", "neither a path"],
  ["ann/toy", "neither a path"],
  ["https://example.com/toy.tgz", "There is no file"],
  ["git:ext::sh -c touch% /tmp/x", "no address of a git repository"],
  ["git:--upload-pack=touch", "no address of a git repository"],
  ["git:https://example.com/toy#--output=x", "no address of a git repository"],
  ["git:https://example.com/toy#+refs/heads/*:refs/heads/*", "no address of a git repository"],
  ["git:ssh://-oProxyCommand=touch/toy.git", "no address of a git repository"],
  ["git:https://ann:token@example.com/toy.git", "password"],
  ["git:ssh://ann:token@example.com/toy.git", "password"],
  ["", "neither a path"],
])("%j is refused", (text, why) => {
  expect(() => parseSource(text, where)).toThrow(
    expect.objectContaining({ code: "USAGE", message: expect.stringContaining(why) }),
  );
});

test("a record leads to the source that it was made of", () => {
  const dir = folder();
  writeFileSync(join(dir, "toy.tgz"), "");
  for (const source of [
    { kind: "path", path: "/opt/toy" },
    { kind: "npm", spec: "toy@latest" },
    { kind: "git", url: "https://example.com/toy.git", ref: "main" },
    { kind: "archive", path: join(dir, "toy.tgz"), hasNpm: true },
    { kind: "archive", path: join(dir, "toy.tgz"), hasNpm: false },
  ] as const)
    expect(sourceOfRecord({ source: source.kind, spec: sourceText(source) }, where)).toEqual(source);
  expect(sourceOfRecord({ source: "link", spec: "/opt/toy" }, where)).toBeUndefined();
  expect(sourceOfRecord({ source: "clawhub", spec: "toy" }, where)).toBeUndefined();
  expect(sourceOfRecord({ source: "npm" }, where)).toBeUndefined();
});
