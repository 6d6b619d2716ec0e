import { expect, it } from "vitest";
import { z } from "zod";
import { headBytes, tailOf } from "../../src/tools/cap.ts";
import { defineTool, textResult } from "../../src/tools/define.ts";
import { runTool } from "../../src/tools/run.ts";
import { toolSchema } from "../../src/tools/schema.ts";
import type { Tool, ToolContext, ToolResult } from "../../src/types/run/tool.ts";
import { textOf, toolContext } from "../kit/tools.ts";

const input = z.object({ count: z.int().describe("how many"), name: z.string().default("x") });

function tool(run: (wanted: z.output<typeof input>, context: ToolContext) => Promise<ToolResult>): Tool {
  return defineTool({ name: "t", label: "T", description: "", input, hasSideEffects: false, run });
}

const context = toolContext("/w");

it("gives the tool its checked input", async () => {
  const result = await runTool(
    tool(async ({ count, name }) => textResult(`${name}${count}`)),
    { count: 2 },
    context,
  );
  expect(textOf(result)).toBe("x2");
});

it("names the field that does not fit", async () => {
  const result = await runTool(
    tool(async () => textResult("")),
    { count: "two" },
    context,
  );
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/count: .*number/);
  expect(
    textOf(
      await runTool(
        tool(async () => textResult("")),
        undefined,
        context,
      ),
    ),
  ).toContain("count");
});

it("turns a throw into an error result", async () => {
  const result = await runTool(
    tool(() => {
      throw new Error("no such thing");
    }),
    { count: 1 },
    context,
  );
  expect(result).toEqual({ content: [{ type: "text", text: "no such thing" }], isError: true });
});

it.each<readonly [content: unknown, shown: unknown]>([
  ["x", [{ type: "text", text: "x" }]],
  [
    ["x", null, { type: "text", text: 5 }],
    [
      { type: "text", text: "x" },
      { type: "text", text: "5" },
    ],
  ],
  [
    [{ type: "text" }, { type: "image", data: null }, { type: "text", text: "kept" }],
    [
      { type: "text", text: "[image: its data is missing]" },
      { type: "text", text: "kept" },
    ],
  ],
  [
    [{ type: "image", data: "AAAA", mimeType: 7 }],
    [{ type: "image", data: "AAAA", mimeType: "application/octet-stream" }],
  ],
  [
    [
      { type: "sound", url: 1 },
      { type: null, text: "typeless" },
    ],
    [
      { type: "text", text: "[a part that cannot be shown]" },
      { type: "text", text: "typeless" },
    ],
  ],
])("mends the parts of a result that is %j", async (content, shown) => {
  const foreign = Object.assign(
    tool(async () => ({ content: [] })),
    { run: async () => ({ content, isError: "no", details: [1] }) },
  );
  expect(await runTool(foreign, { count: 1 }, context)).toEqual({ content: shown });
});

it.each([undefined, null, "text", {}, { content: 5 }, { content: [{ type: "text" }] }])(
  "survives a result that is %j",
  async (given) => {
    // As a tool of a plugin in JavaScript would return it.
    const foreign = Object.assign(
      tool(async () => ({ content: [] })),
      { run: async () => given },
    );
    const result = await runTool(foreign, { count: 1 }, context);
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain("no usable result");
  },
);

it("caps the text of a result, not its images", async () => {
  const image = { type: "image", data: "A".repeat(100_000), mimeType: "image/png" } as const;
  const run = async (): Promise<ToolResult> => ({ content: [{ type: "text", text: "ü".repeat(60_000) }, image] });
  const result = await runTool(tool(run), { count: 1 }, context);
  expect(Buffer.byteLength(textOf(result))).toBeLessThan(51_500);
  expect(result.content[1]).toEqual(image);
});

it("keeps head and tail of a text that is longer than an agent wants", async () => {
  const text = `begin ${"x".repeat(5000)} end`;
  const run = async (): Promise<ToolResult> => ({
    content: [
      { type: "text", text },
      { type: "text", text },
    ],
  });
  const { content } = await runTool(tool(run), { count: 1 }, { ...context, mostChars: 1000 });
  const [first, second] = content.map((part) => (part.type === "text" ? part.text : ""));
  expect(first).toMatch(/^begin x+ \[…\d+ characters left out…\] x+ end$/);
  expect(first).toHaveLength(1000);
  expect(second!.length).toBeLessThan(60);
});

it("ends soon after an abort though the tool does not, and lets no late update through", async () => {
  const abort = new AbortController();
  const updates: string[] = [];
  let late = (): void => undefined;
  const stuck = tool((_wanted, { update }) => {
    late = () => update("late");
    update("early");
    return new Promise<ToolResult>(() => undefined);
  });
  const running = runTool(stuck, { count: 1 }, toolContext("/w", { signal: abort.signal, updates }));
  const before = performance.now();
  abort.abort();
  const result = await running;
  expect(performance.now() - before).toBeLessThan(20_000);
  expect(result.isError).toBe(true);
  late();
  expect(updates).toEqual(["early"]);
});

it("does not begin after an abort", async () => {
  let began = false;
  const run = async (): Promise<ToolResult> => {
    began = true;
    return textResult("");
  };
  await runTool(tool(run), { count: 1 }, toolContext("/w", { signal: AbortSignal.abort() }));
  expect(began).toBe(false);
});

it("makes a schema for the model, once", () => {
  const one = tool(async () => textResult(""));
  expect(toolSchema(one)).toMatchObject({
    type: "object",
    properties: { count: { type: "integer", description: "how many" }, name: { type: "string" } },
    required: ["count"],
  });
  expect(toolSchema(one)).not.toHaveProperty("$schema");
  expect(JSON.stringify(toolSchema(one))).not.toContain("9007199254740991");
  expect(toolSchema(one)).toBe(toolSchema(one));
});

it("cuts text between characters", () => {
  expect(headBytes("aüb", 2)).toBe("a");
  expect(headBytes("a😀b", 4)).toBe("a");
  expect(tailOf("aüb", { lines: 1, bytes: 2 }).text).toBe("b");
  expect(tailOf("a😀b", { lines: 1, bytes: 5 }).text).toBe("😀b");
  expect(headBytes("abc", 10) + tailOf("abc", { lines: 1, bytes: 10 }).text).toBe("abcabc");
});
