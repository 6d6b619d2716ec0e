import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, textResult } from "../../src/tools/define.ts";
import { eventsOf, openRunFixture, type RunFixture } from "../kit/run.ts";

let fixture: RunFixture;
const seen: unknown[] = [];
beforeEach(async () => {
  seen.length = 0;
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const INPUT = z.object({
  path: z.string(),
  note: z.string().optional(),
  label: z.string().min(1).optional(),
  mode: z.enum(["fast", "slow"]).optional(),
  offset: z.int().min(1).optional(),
  count: z.int().min(0).optional(),
  where: z.union([z.object({ at: z.string(), line: z.int().min(1).optional() }), z.boolean()]).optional(),
  edits: z.array(z.object({ from: z.string(), to: z.string().min(1).optional() })).optional(),
});

const tool = defineTool<z.infer<typeof INPUT>>({
  name: "probe",
  label: "probe",
  description: "Does nothing.",
  input: INPUT,
  hasSideEffects: false,
  run: async (input) => {
    seen.push(input);
    return textResult("done");
  },
});

/** What the tool got of a call with these arguments, and what the model was told of it. */
async function called(args: Record<string, unknown>) {
  fixture.model.answer((call) => (call.isAfterTool ? { text: "end" } : { tool: "probe", args }));
  await eventsOf(fixture.start({ tools: [tool] }).stream);
  return { got: seen.at(-1), told: fixture.model.calls.at(-1)!.toolText };
}

it("fields that may be left out and come blank count as left out, where the tool takes no blank", async () => {
  const args = { path: "a", note: "", label: "", mode: "", offset: 0, count: 0, where: "", edits: null };
  expect((await called(args)).got).toEqual({ path: "a", note: "", count: 0 });
});

it("objects and lists that come as JSON text are read, and the blanks in them are left out too", async () => {
  const args = {
    path: '{"not": "read"}',
    where: '{"at": "[1]", "line": 0}',
    edits: JSON.stringify([
      { from: "{}", to: "" },
      { from: "x", to: "y" },
    ]),
  };
  expect((await called(args)).got).toEqual({
    path: '{"not": "read"}',
    where: { at: "[1]" },
    edits: [{ from: "{}" }, { from: "x", to: "y" }],
  });
});

it.each<[Record<string, unknown>, RegExp]>([
  [{ note: "no path" }, /path/],
  [{ path: "a", offset: -1 }, /offset/],
  [{ path: "a", mode: "quick" }, /mode/],
  [{ path: "a", edits: '[{"from": "x"' }, /edits/],
])("what leaves a doubt is refused with the field's name: %j", async (args, why) => {
  const { got, told } = await called(args);
  expect(got).toBeUndefined();
  expect(told).toMatch(why);
});
