import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { applyEdits } from "../../../src/tools/files/replacements.ts";
import { textOf } from "../../kit/tools.ts";
import { openGround, type Ground } from "../../contracts/tool/ground.ts";

let ground: Ground;
beforeEach(() => {
  ground = openGround();
});
afterEach(() => ground.close());

describe("edit takes its arguments", () => {
  it.each([
    { path: "a.txt", edits: [{ oldText: "two", newText: "2" }] },
    { path: "a.txt", oldText: "two", newText: "2" },
    { file_path: "a.txt", old_text: "two", new_text: "2" },
    { file_path: "a.txt", old_string: "two", new_string: "2" },
    { filePath: "a.txt", edits: [{ old_text: "two", new_text: "2" }] },
    { path: "a.txt", edits: '[{"oldText":"two","newText":"2"}]' },
  ])("as %j", async (input) => {
    ground.put("a.txt", "one two three");
    expect(await ground.said("edit", input)).toBe("Changed 1 place in a.txt.");
    expect(ground.get("a.txt")).toBe("one 2 three");
  });
});

describe("edit finds a text", () => {
  it.each([
    ["spaces", "if (a) {\n\t\treturn  1;   \n}\n", ["  return 1;\n}", "X"], "if (a) {\nX\n"],
    ["quotes", "He said “it’s fine” – twice.\n", ['said "it\'s fine" - twice', "X"], "He X.\n"],
    ["spaces that do not break", "10\u00A0km\n", ["10 km", "11 km"], "11 km\n"],
    ["line ends of one file", "a\r\nb\nc\r\nd\r\n", ["c\nd", "C\nD"], "a\r\nb\nC\r\nD\r\n"],
  ])("that differs only in %s", async (_what, content, [oldText, newText], expected) => {
    ground.put("a.txt", content);
    expect(await ground.said("edit", { path: "a.txt", oldText, newText })).toContain("Changed 1 place");
    expect(ground.get("a.txt")).toBe(expected);
  });

  it("exactly where it can, though others are similar", async () => {
    ground.put("a.txt", "say 'x'\nsay ‘x’\n");
    await ground.call("edit", { path: "a.txt", oldText: "'x'", newText: "y" });
    expect(ground.get("a.txt")).toBe("say y\nsay ‘x’\n");
  });

  it("never at one of two similar places", async () => {
    ground.put("a.txt", "say ‘x’\nsay ’x’\n");
    expect(await ground.said("edit", { path: "a.txt", oldText: "'x'", newText: "y" })).toContain("more than once");
    expect(ground.get("a.txt")).toBe("say ‘x’\nsay ’x’\n");
  });
});

describe("edit that does not find a text", () => {
  it("shows the most similar lines, three at most", async () => {
    ground.put(
      "a.ts",
      "import x\nconst total = sum(rows);\nconst totals = sum(row);\nlet total = sum(rows)\nconst total = sum(rowz)\nz\n",
    );
    const said = await ground.said("edit", { path: "a.ts", oldText: "const total = add(rows);", newText: "" });
    expect(said).toContain("2: const total = sum(rows);");
    expect(said.match(/^\d+: /gm)).toHaveLength(3);
    expect(said).not.toContain("import x");
  });

  it("shows the beginning of a file in which no line is similar", async () => {
    ground.put("a.txt", "q".repeat(5000));
    const said = await ground.said("edit", { path: "a.txt", oldText: "function main() {", newText: "" });
    expect(said).toContain(`It begins:\n${"q".repeat(800)}\n`);
  });
});

describe("edit keeps", () => {
  it("the byte order mark and the line ends of Windows", async () => {
    ground.put("a.txt", "\uFEFFone\r\ntwo\r\n");
    await ground.call("edit", { path: "a.txt", oldText: "one\ntwo", newText: "1\n2\n3" });
    expect(ground.get("a.txt")).toBe("\uFEFF1\r\n2\r\n3\r\n");
  });
});

describe("the time of edits", () => {
  it("stays small for texts that are the worst for a search", () => {
    const content = "a".repeat(10_000_000);
    const oldText = `${"a".repeat(500_000)}b${"a".repeat(500_000)}`;
    const before = process.threadCpuUsage();
    expect(() => applyEdits(content, [{ oldText, newText: "" }])).toThrow(/not in the file/);
    const { user, system } = process.threadCpuUsage(before);
    // A search that takes the product of both lengths takes hours.
    expect(user + system).toBeLessThan(20_000_000);
  });

  it("is bounded by the number of edits in a large file", () => {
    const edits = Array.from({ length: 500 }, (_, index) => ({ oldText: `<${index}>`, newText: "" }));
    expect(() => applyEdits("x".repeat(1_000_000), edits)).toThrow(/too many edits/);
  });
});

describe("write", () => {
  it("says when a file has the content already, and writes nothing", async () => {
    expect((await ground.call("write", { path: "a.txt", content: "one\n" })).details).toMatchObject({
      changed: true,
      created: true,
    });
    const again = await ground.call("write", { file_path: "a.txt", content: "one\n" });
    expect(again.details).toEqual({ changed: false });
    expect(textOf(again)).toContain("nothing was written");
  });

  it("says what it changed", async () => {
    ground.put("a.txt", "1\n2\n3\n4\n5\n");
    const { details } = await ground.call("write", { path: "a.txt", content: "1\n2\nthree\n4\n5\n" });
    expect(details).toMatchObject({ changed: true, created: false, firstChangedLine: 3 });
    expect(details?.["diff"]).toContain("-3 3\n+3 three");
    expect(details?.["patch"]).toContain("@@ -1,5 +1,5 @@");
  });

  it("does not compare what is too long, differs too much, or is no text", async () => {
    const lines = (word: string, count: number) => Array.from({ length: count }, (_, at) => `${word} ${at}`).join("\n");
    for (const [before, after] of [
      [lines("a", 20_001), lines("a", 20_002)],
      [lines("a", 3000), lines("b", 3000)],
      [Buffer.from([1, 0, 2]), "text"],
    ] as const) {
      ground.put("a.txt", before);
      const { details } = await ground.call("write", { path: "a.txt", content: after });
      expect(details).toMatchObject({ changed: true, created: false });
      expect(details).not.toHaveProperty("diff");
    }
  });
});
