import { expect, it } from "vitest";
import { runTool } from "../../src/tools/run.ts";
import { backendTools, toolsFor } from "../../src/tools/tools.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { Backends, CommandLine } from "../../src/types/run/backend.ts";
import { OPERATOR } from "../../src/types/run/principal.ts";
import { endedCommand } from "../kit/tools.ts";
import { agentSettings, noRules, textOf, toolContext } from "../kit/tools.ts";
import { unexpected } from "../kit/create-tools.ts";
import type { ToolContribution } from "../../src/types/run/tool.ts";

/** A sandbox in memory. None of its paths exists on this machine. */
function sandbox(): Backends & { readonly files: Backends["files"]; readonly contents: Map<string, string> } {
  const contents = new Map([["/sandbox/notes.txt", "first\nneedle\n"]]);
  const at = (path: string) => (path.startsWith("/") ? path : `/sandbox/${path}`);
  const contentOf = (path: string): string => {
    const content = contents.get(at(path));
    if (content === undefined) throw new Error(`${path} is not in the sandbox.`);
    return content;
  };
  return {
    contents,
    files: {
      locate: async (path) => at(path),
      async open(path) {
        const bytes = Buffer.from(contentOf(path));
        return {
          read: async (buffer, offset, length, position) => ({
            bytesRead: bytes.copy(buffer, offset, position, position + length),
          }),
          stat: async () => ({ size: bytes.length }),
          close: async () => undefined,
        };
      },
      async replace({ path, content }) {
        contents.set(at(path), content);
      },
      exists: async (path) => contents.has(at(path)),
      async create({ path, content }) {
        contents.set(at(path), content);
      },
      async remove(path) {
        contents.delete(at(path));
      },
      async keep(text) {
        contents.set("/sandbox/kept.log", text);
        return "/sandbox/kept.log";
      },
      async shapesTurns() {
        return false;
      },
      confined() {
        return this;
      },
      list: async () => [...contents.keys()].map((path) => ({ name: path.slice("/sandbox/".length), kind: "file" })),
      async findFiles(_query, _scope, take) {
        [...contents.keys()].every(take);
        return { isLate: false, isPartial: false };
      },
      async searchText({ path, pattern }, _scope, take) {
        const lines = contentOf(path).split("\n");
        const at = lines.findIndex((line) => line.includes(pattern));
        if (at >= 0) take({ path, number: String(at + 1), mark: ":", text: lines[at]! });
        return { isLate: false, isPartial: true };
      },
    },
    exec: {
      directory: async (path) => at(path),
      filesOf: async () => [],
      start: async ({ command, cwd }: CommandLine) => endedCommand(`${cwd}$ ${command}`, 3),
    },
  };
}

it("every tool on files and processes works through the backends of its run alone", async () => {
  const made = sandbox();
  const agent = { ...agentSettings("/sandbox"), id: agentId("main") };
  const acting = { principal: OPERATOR, sessionKey: sessionKey("s1") };
  const { tools } = toolsFor(backendTools(noRules), { ...made, agent, acting }, unexpected);
  const said = async (name: string, input: unknown) =>
    textOf(
      await runTool(
        tools.find((tool) => tool.name === name)!,
        input,
        toolContext("/sandbox"),
      ),
    );

  expect(await said("read", { path: "notes.txt" })).toBe("first\nneedle\n");
  expect(await said("write", { path: "new.txt", content: "made here" })).toContain("Wrote 9 bytes");
  expect(made.contents.get("/sandbox/new.txt")).toBe("made here");
  expect(await said("edit", { path: "new.txt", oldText: "here", newText: "there" })).toContain("Changed 1 place");
  expect(made.contents.get("/sandbox/new.txt")).toBe("made there");
  const patch =
    "*** Begin Patch\n*** Update File: new.txt\n*** Move to: moved.txt\n@@\n-made there\n+patched\n*** End Patch";
  expect(await said("apply_patch", { input: patch })).toContain("M new.txt -> moved.txt");
  expect(made.contents.get("/sandbox/moved.txt")).toBe("patched");
  await said("apply_patch", {
    input: patch
      .replaceAll("moved", "x")
      .replaceAll("new", "moved")
      .replaceAll("x.", "new.")
      .replace("made there", "patched"),
  });
  expect(await said("ls", {})).toBe("new.txt\nnotes.txt");
  expect(await said("find", { pattern: "*" })).toBe("/sandbox/new.txt\n/sandbox/notes.txt");
  expect(await said("grep", { pattern: "needle", path: "notes.txt" })).toContain("notes.txt:2: needle");
  expect(await said("exec", { command: "uname", cwd: "src" })).toContain("/sandbox/src$ uname");
  expect(await said("exec", { command: "uname" })).toContain("[exit code 3]");
  expect(tools).toHaveLength(8);
});

it("leaves out what a contribution cannot make, or makes under the name of another tool", () => {
  const agent = {
    ...agentSettings("/sandbox", { tools: { global: { key: "tools", deny: ["exec"] } } }),
    id: agentId("main"),
  };
  const scene = { ...sandbox(), agent, acting: { principal: OPERATOR, sessionKey: sessionKey("s1") } };
  const read = backendTools(noRules)[0]?.forRun(scene);
  const added: readonly ToolContribution[] = [
    { name: "broken", forRun: () => expect.fail("no key") },
    { name: "harmless", forRun: () => read && { ...read, name: "exec" } },
    { name: "note", forRun: () => read && { ...read, name: "note" } },
  ];
  const reported: string[] = [];
  const { tools } = toolsFor(added, scene, (tool, error) => reported.push(`${tool}: ${String(error)}`));
  expect(tools.map(({ name }) => name)).toEqual(["note"]);
  expect(reported).toEqual([
    expect.stringContaining("broken: "),
    expect.stringContaining("harmless: Error: it made a"),
  ]);
});

it("gives the name of a tool that is off to the next contribution that has it, and not that of one that is denied", () => {
  const scene = (deny: readonly string[]) => ({
    ...sandbox(),
    agent: {
      ...agentSettings("/sandbox", { tools: { global: { key: "tools", deny: [...deny] } } }),
      id: agentId("main"),
    },
    acting: { principal: OPERATOR, sessionKey: sessionKey("s1") },
  });
  const read = backendTools(noRules)[0]?.forRun(scene([]));
  const made = (label: string): ToolContribution => ({
    name: "web_search",
    groups: [label],
    forRun: () => read && { ...read, name: "web_search", label },
  });
  const off: ToolContribution = { name: "web_search", groups: ["gateway"], forRun: () => undefined };
  const labels = (tools: readonly ToolContribution[], deny: readonly string[] = []) =>
    toolsFor(tools, scene(deny), unexpected).tools.map(({ label }) => label);
  expect(labels([off, made("plugin")])).toEqual(["plugin"]);
  expect(labels([made("gateway"), made("plugin")])).toEqual(["gateway"]);
  expect(labels([made("gateway"), made("plugin")], ["gateway"])).toEqual([]);
  expect(labels([off, made("plugin")], ["web_search"])).toEqual([]);
});
