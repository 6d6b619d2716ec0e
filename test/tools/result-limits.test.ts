import { readFileSync, readdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { resultCharsOf } from "../../src/harness/context/budget.ts";
import { defineTool } from "../../src/tools/define.ts";
import { runTool, type CallContext } from "../../src/tools/run.ts";
import { Secret } from "../../src/utils/secrets/secret.ts";
import type { ToolResult } from "../../src/types/run/tool.ts";
import { openGround, type Ground } from "../contracts/tool/ground.ts";
import { MODEL } from "../kit/engine.ts";
import { createTools } from "../kit/create-tools.ts";
import { agentSettings, makeTool, noRules, textOf, toolContext } from "../kit/tools.ts";

let ground: Ground;
beforeEach(() => {
  ground = openGround();
});
afterEach(() => {
  vi.useRealTimers();
  ground.close();
});

/** Calls a tool of a plugin. */
function called(run: (context: CallContext) => Promise<ToolResult>, more: Partial<CallContext>, timeoutMs?: number) {
  const plug = makeTool("plug", (_input, context) => run(context));
  const extra = [defineTool({ ...plug, ...(timeoutMs !== undefined && { timeoutMs }) })];
  const settings = agentSettings(ground.workspace);
  const made = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [], extra });
  return runTool(
    made.find(({ name }) => name === "plug")!,
    {},
    { ...toolContext(ground.workspace), ...more },
  );
}
const ofText = (text: string, details?: Record<string, unknown>) => async (): Promise<ToolResult> => ({
  content: [{ type: "text", text }],
  ...(details && { details }),
});
const outputs = () => join(ground.workspace, ".openclaw", "output");

describe("the limit of a result", () => {
  it.each([
    [8000, undefined, 9600],
    [32_000, undefined, 16_000],
    [100_000, undefined, 32_000],
    [200_000, undefined, 64_000],
    [1_000_000, undefined, 64_000],
    [200_000, 5000, 5000],
    [8000, 100_000, 9600],
  ])("in a window of %d tokens with %s in the config is %d characters", (contextWindow, toolResultMaxChars, most) => {
    const info = { ...MODEL, contextWindow };
    expect(resultCharsOf(info, toolResultMaxChars === undefined ? {} : { toolResultMaxChars })).toBe(most);
  });
});

describe("a result that is longer", () => {
  const long = `begin\n${"line\n".repeat(20_000)}Error: the end\n`;

  it("keeps its head and its end, and is whole in a file that read opens", async () => {
    const result = await called(ofText(long), { mostChars: 4000 });
    const text = textOf(result);
    expect(text.length).toBeLessThanOrEqual(4000);
    expect(text).toMatch(/^begin\n.*characters left out; all of it is in .*Error: the end\n$/s);
    const path = String(result.details?.["fullResult"]);
    expect(text).toContain(path);
    expect(readFileSync(path, "utf8")).toBe(long);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await ground.said("read", { path, limit: 2 })).toContain("begin\nline\n");
    expect(await ground.said("grep", { path, pattern: "^Error" })).toContain("Error: the end");
  });

  it("has no secrets in its file, which is removed after a day", async () => {
    const secret = "secret-of-this-process-4711";
    new Secret(secret);
    await called(ofText(`${secret}\n${long}`), { mostChars: 4000 });
    const [name = ""] = readdirSync(outputs());
    expect(readFileSync(join(outputs(), name), "utf8")).not.toContain(secret);
    const yesterday = Date.now() / 1000 - 25 * 3600;
    utimesSync(join(outputs(), name), yesterday, yesterday);
    await called(ofText(long), { mostChars: 4000 });
    await expect.poll(() => readdirSync(outputs())).not.toContain(name);
  });

  it("says why it is not in a file when none can be written", async () => {
    // As a full disk does: nothing can be made in the folder.
    ground.put(".openclaw", "a file in its place");
    const result = await called(ofText(long), { mostChars: 4000 });
    const text = textOf(result);
    expect(text.length).toBeLessThanOrEqual(4000);
    expect(text).toMatch(
      /^begin\n.*characters left out; they could not be kept in a file: .*ENOTDIR.*Error: the end\n$/s,
    );
    expect(result.details).toMatchObject({ notKept: expect.stringContaining("ENOTDIR") });
    expect(result.details).not.toHaveProperty("fullResult");
  });

  it("is never one of read, whose pages fit", async () => {
    ground.put("a.txt", `${"ü".repeat(70)}\n`.repeat(5000));
    for (const mostChars of [2000, 16_000, 64_000]) {
      const result = await ground.call("read", { path: "a.txt" }, { mostChars });
      expect(textOf(result).length).toBeLessThanOrEqual(mostChars);
      expect(textOf(result)).toMatch(/^ü+\n.*there is more, continue with offset=\d+\.\]$/s);
      expect(result.details).not.toHaveProperty("fullResult");
    }
  });

  it("loses the largest of its details, and says so", async () => {
    const details = { status: "ok", log: "x".repeat(1_000_000), rows: Array.from({ length: 50_000 }, () => "row") };
    const result = await called(ofText("short", details), {});
    expect(result.details).toMatchObject({ status: "ok", persistedDetailsTruncated: true });
    expect(JSON.stringify(result.details).length).toBeLessThan(70_000);
    const cyclic: Record<string, unknown> = { status: "ok", big: 1n };
    cyclic["self"] = cyclic;
    expect((await called(ofText("short", cyclic), {})).details).toEqual({
      status: "ok",
      persistedDetailsTruncated: true,
    });
  });
});

describe("details that say that others wrote the content", () => {
  it.each([
    ["large themselves", { externalContent: { untrusted: true, provider: "wiki", text: "x".repeat(100_000) } }],
    [
      "among many others",
      {
        externalContent: { untrusted: true, provider: "wiki" },
        ...Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at])),
      },
    ],
  ])("keep that mark when they are %s", async (_, details) => {
    const { details: kept } = await called(ofText("short", details), {});
    expect(kept).toMatchObject({ externalContent: { untrusted: true, provider: "wiki" } });
    expect(JSON.stringify(kept).length).toBeLessThan(70_000);
  });
});

describe("a tool that does not end", () => {
  const never = () => new Promise<ToolResult>(() => undefined);

  it("is abandoned within a second of an abort, and named in the result and the log", async () => {
    const abort = new AbortController();
    const warned: unknown[] = [];
    const log = { warn: (text: string, fields?: unknown) => warned.push([text, fields]) };
    const running = called(never, { signal: abort.signal, log });
    const before = performance.now();
    abort.abort();
    const result = await running;
    expect(performance.now() - before).toBeLessThan(20_000);
    expect(textOf(result)).toContain("The tool plug did not end");
    expect(result.details).toEqual({ abandoned: true });
    expect(warned).toEqual([["tool abandoned: it did not end", { tool: "plug", callId: "c1", why: "it was aborted" }]]);
  });

  it("is not named where it ends soon after an abort", async () => {
    const abort = new AbortController();
    const { signal } = abort;
    const warned: unknown[] = [];
    const polite = (context: CallContext) =>
      new Promise<ToolResult>((resolve) => {
        context.signal.addEventListener("abort", () => resolve({ content: [{ type: "text", text: "half" }] }));
      });
    const running = called(polite, { signal, log: { warn: (text: string) => warned.push(text) } });
    // Its time of grace ends after that of the first one.
    const stuck = called(never, { signal, log: { warn: () => undefined } });
    abort.abort();
    expect(textOf(await running)).toBe("half");
    await stuck;
    expect(warned).toEqual([]);
  });

  it("is ended after its own time, with what it says until then", async () => {
    const polite = ({ signal }: CallContext) =>
      new Promise<ToolResult>((resolve) => {
        signal.addEventListener("abort", () => resolve({ content: [{ type: "text", text: "half" }] }));
      });
    expect(textOf(await called(polite, {}, 50))).toBe("half[The tool plug was ended after 0.05 seconds.]");
    expect(textOf(await called(never, {}, 50))).toContain("The tool plug did not end after its time was over");
  });

  it("has all the time in which a person is asked", async () => {
    vi.useFakeTimers();
    const approvals = {
      ask: async () => {
        await new Promise((resolve) => setTimeout(resolve, 10_000));
        return "allow-once" as const;
      },
    };
    const asking = async ({ approvals: desk, signal }: CallContext): Promise<ToolResult> => {
      await desk.ask({ command: "x", cwd: "/", reason: "x" }, signal);
      return ofText(String(signal.aborted))();
    };
    const running = called(asking, { approvals }, 1000);
    await vi.advanceTimersByTimeAsync(11_000);
    expect(textOf(await running)).toBe("false");
  });
});

describe("read", () => {
  it("goes through a line that is too long, without losing or repeating a character", async () => {
    const line = "aü😀".repeat(20_000);
    ground.put("line.txt", `first\n${line}\nlast\n`);
    let seen = "";
    let cursor: number | undefined = 0;
    for (let page = 0; cursor !== undefined && page < 50; page += 1) {
      const text = await ground.said("read", { path: "line.txt", offset: 2, cursor }, { mostChars: 16_000 });
      const next: RegExpExecArray | null = /\n\n\[Line 2 is longer than .* cursor=(\d+)\.\]$/.exec(text);
      seen += next ? text.slice(0, next.index) : text;
      cursor = next ? Number(next[1]) : undefined;
    }
    expect(seen === `${line}\nlast\n`).toBe(true);
  });

  it("takes a missing file for no error where that is asked for", async () => {
    expect((await ground.call("read", { path: "none" })).isError).toBe(true);
    const result = await ground.call("read", { path: "none", optional: true });
    expect(result).toEqual({
      content: [{ type: "text", text: "[There is no file none.]" }],
      details: { kind: "not_found" },
    });
    expect((await ground.call("read", { path: "../outside/none", optional: true })).isError).toBe(true);
  });
});
