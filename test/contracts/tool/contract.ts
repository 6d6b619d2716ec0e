import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { toolSchema } from "../../../src/tools/schema.ts";
import { isFields } from "../../../src/utils/fields.ts";
import type { ToolResult } from "../../../src/types/run/tool.ts";
import { createTools } from "../../kit/create-tools.ts";
import { MEDIA, mediaContributions } from "./media-kit.ts";
import { moreContributions } from "./more-kit.ts";
import { sessionToolsKit } from "./session-kit.ts";
import { webContributions } from "./web-kit.ts";
import { agentSettings, noRules, textOf } from "../../kit/tools.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { Processes } from "../../../src/tools/process/processes.ts";
import { openGround, OUTSIDE, type Ground } from "./ground.ts";
import { leaks, makeHostile, NAMES, NO_FILES, OUT, startSwapping } from "./hostile.ts";

export interface ToolUnderTest {
  readonly name: string;
  /** A valid call. */
  readonly valid: Readonly<Record<string, unknown>>;
  /** It has no arguments, and ignores all that it is called with. */
  readonly takesNothing?: boolean;
}

export interface FileToolUnderTest extends ToolUnderTest {
  /** A valid call that works on a path. */
  at(path: string): Readonly<Record<string, unknown>>;
  /** What the call answers for a file with the line `plain`; nothing for tools that work on directories. */
  readonly onPlain?: RegExp;
  /** It cannot work on binary files, files that are not UTF-8, and huge files, and leaves them as they are. */
  readonly refuses: readonly string[];
}

/** Far more than any call takes on a busy machine; what hangs takes for ever. */
const SOON_MS = 30_000;
/** Bytes of a result. */
const MOST_RESULT = 52 * 1024;

let ground: Ground;
let processes: Processes;
beforeEach(() => {
  ground = openGround();
  processes = new Processes({ clock: systemClock, exited: () => undefined });
});
afterEach(async () => {
  await processes.close();
  ground.close();
});

async function soon(name: string, input: unknown, signal?: AbortSignal): Promise<ToolResult> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${name} hangs`)), SOON_MS);
  try {
    return await Promise.race([ground.call(name, input, { processes, ...(signal && { signal }) }), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** It failed, with a short text that says why. */
function expectRefusal(result: ToolResult): void {
  expect(result.isError).toBe(true);
  expect(textOf(result)).not.toBe("");
  expect(Buffer.byteLength(textOf(result))).toBeLessThan(MOST_RESULT);
  expect(leaks(textOf(result))).toBe(false);
}

function expectOutsideUntouched(): void {
  const outside = join(ground.root, "outside");
  expect(readdirSync(outside)).toEqual(["secret.txt"]);
  expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe(OUTSIDE);
}

const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  string: [5, true, {}, [], [["x"]]],
  boolean: ["yes", 1, {}],
  integer: ["5", 1.5, {}, 1e300],
  number: ["5", {}, []],
  array: ["x", 5, {}],
  object: ["x", 5, []],
};

/** Each argument of the schema with values of other types. */
function wrongCalls({ name, valid }: ToolUnderTest): readonly Readonly<Record<string, unknown>>[] {
  const settings = { ...agentSettings(ground.workspace), media: MEDIA };
  const own = [
    ...sessionToolsKit().contributions,
    ...mediaContributions(),
    ...webContributions(),
    ...moreContributions(),
  ];
  const made = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [], processes, own });
  const { properties } = toolSchema(made.find((tool) => tool.name === name)!);
  if (!isFields(properties)) return [];
  return Object.entries(properties).flatMap(([key, schema]) => {
    return wrongFor(schema).map((value) => ({ ...valid, [key]: value }));
  });
}

/** Of several types, only values that are none of them; of any type, none. */
function wrongFor(schema: unknown): readonly unknown[] {
  if (!isFields(schema)) return [];
  const { type, anyOf } = schema;
  if (typeof type === "string") return WRONG[type] ?? [];
  return Array.isArray(anyOf) ? [true, {}] : [];
}

/** Names of the tools that the contract was called for. */
export const contracted = new Set<string>();

/** What every tool does, whatever a model calls it with. */
export function toolContract(tool: ToolUnderTest): void {
  contracted.add(tool.name);
  describe(`the tool ${tool.name}`, () => {
    it("refuses arguments of wrong types by their names, and no arguments at all", async () => {
      const calls = wrongCalls(tool);
      if (tool.takesNothing === true) expect(calls).toEqual([]);
      else expect(calls.length).toBeGreaterThan(3);
      for (const call of calls) {
        const result = await soon(tool.name, call);
        expect(textOf(result)).toContain(`The arguments for ${tool.name} do not fit`);
        expectRefusal(result);
      }
      for (const call of [[], "text", 5, [[[]]]]) expectRefusal(await soon(tool.name, call));
    });

    it("survives arguments that are nested deeply, and huge ones it does not know", async () => {
      const nested = JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`) as unknown;
      const first = Object.keys(tool.valid)[0] ?? "path";
      const given = await soon(tool.name, { ...tool.valid, [first]: nested });
      if (tool.takesNothing !== true) expectRefusal(given);
      const result = await soon(tool.name, {
        ...tool.valid,
        unknown: nested,
        ["x".repeat(1_000_000)]: "y".repeat(5_000_000),
      });
      expect(Buffer.byteLength(textOf(result))).toBeLessThan(MOST_RESULT);
    });

    it("does not begin after an abort", async () => {
      const result = await soon(tool.name, tool.valid, AbortSignal.abort());
      expect(textOf(result)).toContain("Aborted");
      expect(readdirSync(ground.workspace)).toEqual([]);
    });
  });
}

/** What every tool on files does, whatever the workspace holds. */
export function fileToolContract(tool: FileToolUnderTest): void {
  toolContract(tool);

  describe(`the tool ${tool.name}, in a hostile workspace`, () => {
    let hostile: { close(): void };
    beforeEach(async () => {
      hostile = await makeHostile(ground);
    });
    afterEach(() => hostile.close());

    it("refuses pipes, sockets, devices, loops and impossible paths, and waits for none", async () => {
      for (const path of NO_FILES) {
        const result = await soon(tool.name, tool.at(path));
        expect(result.isError, path.slice(0, 30)).toBe(true);
        expectRefusal(result);
      }
    });

    it("neither shows nor changes what is outside", async () => {
      for (const path of OUT) {
        const result = await soon(tool.name, tool.at(path));
        expect(result.isError, path).toBe(true);
        expectRefusal(result);
      }
      expectOutsideUntouched();
    });

    it("works on files with any name", async () => {
      for (const name of NAMES) {
        const text = textOf(await soon(tool.name, tool.at(tool.onPlain ? name : ".")));
        if (tool.onPlain) expect(text).toMatch(tool.onPlain);
        // No name makes two lines of a list out of one, or turns the text around.
        else expect(["\nlines.txt", "\u001B", "\u202E"].filter((part) => text.includes(part))).toEqual([]);
      }
    });

    it("refuses what it cannot work on, and leaves it as it is", async () => {
      const content = (name: string) => (["deep", "holes", "text-and-holes"].includes(name) ? "" : ground.get(name));
      for (const name of tool.refuses) {
        const before = content(name);
        expectRefusal(await soon(tool.name, tool.at(name)));
        expect(content(name)).toBe(before);
      }
    });

    it("ends in a file of 10 GB, in folders without an end, and within a second after an abort", async () => {
      for (const path of ["holes", "text-and-holes", "deep", "."]) {
        const abort = new AbortController();
        const running = soon(tool.name, tool.at(path), abort.signal);
        const timer = setTimeout(() => abort.abort(), 1000);
        const text = textOf(await running);
        clearTimeout(timer);
        expect(Buffer.byteLength(text)).toBeLessThan(MOST_RESULT);
        expect(leaks(text)).toBe(false);
      }
    });

    it("is not led outside by links that another program puts in its way", async () => {
      const swapping = await startSwapping(ground);
      try {
        for (let round = 0; round < 12; round += 1)
          for (const path of ["swap", "swap-dir/secret.txt", "swap-dir", `swap-dir/new-${round}.txt`])
            expect(leaks(textOf(await soon(tool.name, tool.at(path))))).toBe(false);
      } finally {
        await swapping.stop();
      }
      expectOutsideUntouched();
    });
  });
}
