import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { backendTools, toolsFor } from "../../../src/tools/tools.ts";
import { hostBackends } from "../../../src/tools/host/host.ts";
import { agentId, sessionKey } from "../../../src/types/ids.ts";
import { OPERATOR } from "../../../src/types/run/principal.ts";
import type { ApplyPatchSettings } from "../../../src/types/tool-policy.ts";
import { unexpected } from "../../kit/create-tools.ts";
import { agentSettings, noRules, textOf } from "../../kit/tools.ts";
import { openGround, OUTSIDE, type Ground } from "../../contracts/tool/ground.ts";

let ground: Ground;
beforeEach(() => {
  ground = openGround();
});
afterEach(() => ground.close());

const patchOf = (...lines: readonly string[]): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
const apply = (...lines: readonly string[]) => ground.call("apply_patch", { input: patchOf(...lines) });
const at = (name: string) => join(ground.workspace, name);

it("adds, updates, moves and deletes files by one patch", async () => {
  ground.put("a.ts", "function one() {\n  return 1;\n}\n\nfunction two() {\n  return 1;\n}\n");
  ground.put("old.sh", "echo old\n");
  chmodSync(at("old.sh"), 0o750);
  ground.put("gone.txt", "x");
  const result = await apply(
    "*** Add File: new/deep/n.txt",
    "+first",
    "+",
    "*** Update File: a.ts",
    "@@ function two() {",
    "-  return 1;",
    "+  return 2;",
    " }",
    "",
    "*** Update File: old.sh",
    "*** Move to: bin/new.sh",
    "@@",
    "-echo old",
    "+echo new",
    "*** End of File",
    "*** Delete File: gone.txt",
  );
  expect(textOf(result)).toBe("Applied the patch:\nA new/deep/n.txt\nM a.ts\nM old.sh -> bin/new.sh\nD gone.txt");
  expect(ground.get("new/deep/n.txt")).toBe("first\n\n");
  expect(ground.get("a.ts")).toBe("function one() {\n  return 1;\n}\n\nfunction two() {\n  return 2;\n}\n");
  expect(ground.get("bin/new.sh")).toBe("echo new\n");
  expect(statSync(at("bin/new.sh")).mode & 0o777).toBe(0o750);
  expect([existsSync(at("old.sh")), existsSync(at("gone.txt"))]).toEqual([false, false]);
  expect(result.details).toMatchObject({
    changed: true,
    files: [{ created: true }, { path: "a.ts", firstChangedLine: 6 }, { to: "bin/new.sh" }, { deleted: true }],
  });
});

describe("a place of a patch", () => {
  it.each([
    ["without a context", "a\nb\n", ["@@", "-b", "+c"], "a\nc\n"],
    ["in a file for Windows", "\uFEFFa\r\nb\r\n", ["@@", " a", "-b", "+c"], "\uFEFFa\r\nc\r\n"],
    ["with other spaces and quotes", "  say(“x”) \n", ["@@", '-say("x")', "+hear()"], "hear()\n"],
    ["at the end only", "a\nb\na\n", ["@@", "-a", "+z", "*** End of File"], "a\nb\nz\n"],
    ["that only adds, at the end", "a\n", ["@@", "+b"], "a\nb\n"],
    ["that only adds, after a line", "a\nb\n", ["@@ a", "+x"], "a\nx\nb\n"],
    ["without a head", "a\nb\n", ["-a", "+x"], "x\nb\n"],
    ["after the place before", "a\nb\na\n", ["@@", "-a", "+x", "@@", "-a", "+y"], "x\nb\ny\n"],
    ["in a file without a last line end", "a\nb", ["@@", "-a", "+x"], "x\nb"],
  ])("is found %s", async (_how, content, lines, expected) => {
    ground.put("a.txt", content);
    expect(textOf(await apply("*** Update File: a.txt", ...lines))).toContain("M a.txt");
    expect(ground.get("a.txt")).toBe(expected);
  });
});

describe("a patch that does not fit", () => {
  it.each([
    ["lines that are not there", ["*** Update File: a.txt", "@@", "-one tow", "+x"], "1: one two"],
    ["a target that is there", ["*** Add File: a.txt", "+x"], "a.txt exists already"],
    [
      "a move to a target that is there",
      ["*** Update File: a.txt", "*** Move to: b.txt", "@@", "-one two", "+x"],
      "b.txt exists already",
    ],
    [
      "a file that is named twice",
      ["*** Update File: a.txt", "@@", "-one two", "+x", "*** Delete File: ./a.txt"],
      "named twice",
    ],
    ["no change", ["*** Update File: a.txt", "@@", " one two"], "changes nothing"],
    ["a missing file", ["*** Update File: none.txt", "@@", "-x", "+y"], "none.txt"],
    ["another line", ["*** Update File: a.txt", "@@", "one two"], "Line 4 of the patch"],
    ["another section", ["*** Rename File: a.txt"], "Line 2 of the patch"],
    ["no path", ["*** Add File: ", "+x"], "no path"],
    ["no files", [], "no files"],
  ])("with %s changes nothing", async (_what, lines, why) => {
    ground.put("a.txt", "one two\n");
    ground.put("b.txt", "b\n");
    // A valid section before the wrong one is not applied either.
    const result = await apply(...(lines.length === 0 ? [] : ["*** Add File: first.txt", "+x"]), ...lines);
    expect(textOf(result).replace(/Line (\d+)/, (_all, line: string) => `Line ${Number(line) - 2}`)).toContain(why);
    expect(result.isError).toBe(true);
    expect([ground.get("a.txt"), ground.get("b.txt"), existsSync(at("first.txt"))]).toEqual([
      "one two\n",
      "b\n",
      false,
    ]);
  });

  it("names what was changed before a step failed", async () => {
    mkdirSync(at("folder"));
    const result = await apply("*** Add File: first.txt", "+x", "*** Delete File: folder");
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/failed at "D folder".*is a directory.*still so:\nA first\.txt/s);
  });
});

describe("links", () => {
  it("are deleted themselves, wherever they lead", async () => {
    symlinkSync(join(ground.root, "outside", "secret.txt"), at("link"));
    expect(textOf(await apply("*** Delete File: link"))).toContain("D link");
    expect(() => lstatSync(at("link"))).toThrow();
    expect(readFileSync(join(ground.root, "outside", "secret.txt"), "utf8")).toBe(OUTSIDE);
  });

  it("do not lead a new file elsewhere, inside the workspace or out of it", async () => {
    mkdirSync(at("real"));
    symlinkSync(at("real"), at("inner"));
    symlinkSync(join(ground.root, "outside"), at("outer"));
    symlinkSync(join(ground.root, "outside", "made.txt"), at("dangling"));
    ground.put("a.txt", "a\n");
    for (const path of ["inner/n.txt", "outer/n.txt", "dangling", "inner/deep/n.txt"]) {
      expect((await apply(`*** Add File: ${path}`, "+x")).isError).toBe(true);
      const moved = await apply("*** Update File: a.txt", `*** Move to: ${path}`, "@@", "-a", "+x");
      expect(moved.isError).toBe(true);
    }
    expect(existsSync(at("real/n.txt"))).toBe(false);
    expect(existsSync(join(ground.root, "outside", "made.txt"))).toBe(false);
    expect(ground.get("a.txt")).toBe("a\n");
  });
});

describe("tools.exec.applyPatch", () => {
  const settings = (more: Partial<ApplyPatchSettings>): ApplyPatchSettings => ({
    enabled: true,
    workspaceOnly: true,
    allowModels: [],
    ...more,
  });
  const outside = () => ({ input: patchOf(`*** Add File: ${join(ground.root, "outside", "new.txt")}`, "+x") });

  it("confines the tool to the workspace even where other tools may leave it, unless it says otherwise", async () => {
    const tools = { workspaceOnly: false };
    expect((await ground.call("write", { path: "../outside/w.txt", content: "x" }, { tools })).isError).toBeUndefined();
    expect(await ground.said("apply_patch", outside(), { tools })).toContain("outside the workspace");
    const applyPatch = settings({ workspaceOnly: false });
    expect(await ground.said("apply_patch", outside(), { tools: { applyPatch } })).toContain("outside the workspace");
    expect(await ground.said("apply_patch", outside(), { tools: { ...tools, applyPatch } })).toContain("A /");
  });

  it("gives the tool to the models that it names, or to none", () => {
    const on = (applyPatch: ApplyPatchSettings) => {
      const agent = { ...agentSettings(ground.workspace, { tools: { applyPatch } }), id: agentId("main") };
      const backends = hostBackends({ settings: agent, rights: "owner", deniedPaths: [] });
      const acting = { principal: OPERATOR, sessionKey: sessionKey("s1") };
      const { on: onModel } = toolsFor(backendTools(noRules), { ...backends, agent, acting }, unexpected);
      return ["openai/gpt-5", "anthropic/claude"].map((name) => {
        const [provider = "", id = ""] = name.split("/");
        return onModel({ provider, id }).some((tool) => tool.name === "apply_patch");
      });
    };
    expect(on(settings({}))).toEqual([true, true]);
    expect(on(settings({ enabled: false }))).toEqual([false, false]);
    for (const name of ["gpt-5", "openai/gpt-5", "openai/*"])
      expect(on(settings({ allowModels: [name] }))).toEqual([true, false]);
  });
});
