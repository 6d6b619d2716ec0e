import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  breachesIn,
  edgesIn,
  fullFoldersIn,
  importsOf,
  mutualPairsIn,
  openPortsIn,
  unlistedFoldersIn,
  unmeteredCallsIn,
  wideObjectsIn,
} from "../scripts/check-layers.ts";
import { sharedNamesIn } from "../scripts/shared-names.ts";

const reasons = (file: string, source: string) => breachesIn(file, source).map((breach) => breach.reason);

test("a module may import itself and what sorts after it", () => {
  const source = `import { a } from "./b.ts";\nimport type { C } from "../types/ids.ts";\nimport fs from "node:fs";\n`;
  expect(breachesIn("src/dispatch/dispatch.ts", source)).toEqual([]);
});

test("an upward import is refused, whatever form it has", () => {
  const forms = [
    `import { serve } from "../../app/serve.ts";`,
    `import type { App } from "../../app/serve.ts";`,
    `import {\n  one,\n  two,\n} from "../../app/serve.ts";`,
    `export { serve } from "../../app/serve.ts";`,
    `export * from "../../app/serve.ts";`,
    `import "../../app/serve.ts";`,
    `const app = await import("../../app/serve.ts");`,
  ];
  for (const form of forms) {
    const [reason, ...rest] = reasons("src/dispatch/queue/lane.ts", `${form}\n`);
    expect(reason, form).toContain("dispatch/ may not import app/");
    expect(rest).toEqual([]);
  }
});

test("nobody imports api, and only app knows the extensions", () => {
  expect(reasons("src/app/main.ts", `import { x } from "../api/plugin-sdk.ts";`)).toHaveLength(1);
  expect(reasons("src/server/http.ts", `import { x } from "openclaw/plugin-sdk";`)).toHaveLength(1);
  expect(reasons("src/server/http.ts", `import x from "../../../extensions/telegram/index.ts";`)).toHaveLength(1);
  expect(reasons("src/app/main.ts", `const t = () => import("../../extensions/telegram/index.ts");`)).toEqual([]);
});

test("the suites import modules below the plugin SDK, and only the SDK imports them", () => {
  const inside = `import { x } from "../../src/outbox/render.ts";\nimport { y } from "../runner.ts";\n`;
  expect(breachesIn("testing/channel/contract.ts", inside)).toEqual([]);
  for (const target of ["../src/api/plugin-sdk.ts", "../test/kit/until.ts", "../extensions/telegram/plugin.ts"])
    expect(reasons("testing/plugin.ts", `import { x } from "${target}";`), target).toHaveLength(1);
  expect(reasons("testing/plugin.ts", `import { x } from "openclaw/plugin-sdk";`)).toHaveLength(1);
  expect(reasons("src/api/testing.ts", `export { x } from "../../testing/plugin.ts";`)).toEqual([]);
  expect(reasons("src/plugins/hooks.ts", `import { x } from "../../testing/plugin.ts";`)).toHaveLength(1);
});

test("an extension sees the plugin SDK, packages and itself", () => {
  const allowed = `import { Bot } from "grammy";\nimport { x } from "openclaw/plugin-sdk";\nimport "./own.ts";\n`;
  expect(breachesIn("extensions/telegram/src/poll.ts", allowed)).toEqual([]);
  expect(reasons("extensions/telegram/receive/poll.ts", `import { x } from "../../src/types/ids.ts";`)).toHaveLength(1);
  expect(reasons("extensions/telegram/receive/poll.ts", `import { x } from "../../slack/x.ts";`)).toHaveLength(1);
  expect(reasons("extensions/telegram/receive/poll.ts", `import { x } from "openclaw/inside";`)).toHaveLength(1);
});

test("the pi SDK runs in providers and harness alone", () => {
  const source = `import { Agent } from "@mariozechner/pi-agent-core";`;
  expect(reasons("src/harness/attempts/attempt.ts", source)).toEqual([]);
  expect(reasons("src/prompt/system.ts", source)).toHaveLength(1);
  expect(reasons("src/prompt/system.ts", source.replace("import", "import type"))).toEqual([]);
});

test("a model's stream is opened in one place", () => {
  const ways = [
    `const { streamSimple } = await loadPi();`,
    `handle.openStream(handle.pi, context);`,
    `import { Agent } from "@mariozechner/pi-agent-core";\nconst agent = new Agent({ initialState });`,
    `await sdk.completeSimple(pi, context);`,
  ];
  for (const way of ways) expect(unmeteredCallsIn("src/harness/compaction/summarizer.ts", way), way).toHaveLength(1);
  expect(unmeteredCallsIn("src/providers/call.ts", ways[1] ?? "")).toEqual([]);
  expect(unmeteredCallsIn("src/harness/compaction/summarizer.ts", `callModel(handle, context, options);`)).toEqual([]);
});

test("words in comments and strings are not imports", () => {
  expect(importsOf(` * import x from "../app/a.ts" is refused\nconst a = 'x from "y"';\n`)).toEqual([]);
});

test("inside a module, imports only point down the order of its parts", () => {
  expect(reasons("src/app/config/load.ts", `import { x } from "../gateway/parts.ts";`)[0]).toContain(
    "src/app/config may not import gateway",
  );
  expect(reasons("src/app/gateway/parts.ts", `import { x } from "../config/load.ts";`)).toEqual([]);
  expect(reasons("src/dispatch/queue/lane.ts", `import type { T } from "../turn/turn.ts";`)).toHaveLength(1);
  expect(reasons("extensions/telegram/send/send.ts", `import { x } from "../receive/poll.ts";`)).toHaveLength(1);
  expect(reasons("extensions/telegram/receive/poll.ts", `import { x } from "../send/send.ts";`)).toEqual([]);
});

test("a new folder gets a place in the order of its module", () => {
  expect(unlistedFoldersIn(["src/dispatch/new/x.ts", "src/dispatch/queue/lane.ts", "src/dispatch/new.ts"])).toEqual([
    "src/dispatch/new is not in the order of scripts/module-parts.ts",
  ]);
});

test("two parts or folders of a module do not import each other, whatever the form", () => {
  const pairs = (...files: readonly (readonly [string, string])[]) =>
    mutualPairsIn(files.flatMap(([file, target]) => edgesIn(file, `import type { T } from "${target}";`)));
  const one = ["src/mcp/a/x.ts", "../b/y.ts"] as const;
  expect(pairs(one)).toEqual([]);
  expect(pairs(one, ["src/mcp/b/z.ts", "../a/w.ts"])).toEqual(["src/mcp/a and src/mcp/b import each other"]);
  expect(pairs(["src/mcp/a/x.ts", "../c.ts"], ["src/mcp/c.ts", "./a/y.ts"])).toHaveLength(1);
  expect(pairs(["src/mcp/a/in/x.ts", "../y.ts"], ["src/mcp/a/z.ts", "./in/w.ts"])).toHaveLength(1);
  expect(pairs(["src/mcp/a/x.ts", "../a/y.ts"], ["src/mcp/a/y.ts", "./x.ts"])).toEqual([]);
});

test("a wide object is refused whatever its name, unless the table allows it", () => {
  const fields = Array.from({ length: 13 }, (_, index) => `  readonly f${index}: string;`).join("\n");
  const source = `export interface RunThings {\n${fields}\n}\n`;
  const told = "src/a/b.ts: RunThings has 13 fields, 0 of them boolean; the limits are 12 and 2";
  expect(wideObjectsIn("src/a/b.ts", source)).toEqual([told]);
  expect(wideObjectsIn("src/a/b.ts", source, { RunThings: { fields: 13, why: "a record" } })).toEqual([]);
  expect(wideObjectsIn("src/a/b.ts", `interface Few {\n  readonly a: boolean;\n}\n`)).toEqual([]);
});

test("a group of ports has no optional member and takes in no other group", () => {
  const source =
    "export interface DiskPorts extends Others {\n  readonly a?: string;\n  b?(): void;\n  c(x?: string): void;\n}\n";
  expect(openPortsIn("src/dispatch/ports.ts", source)).toHaveLength(3);
  expect(openPortsIn("src/dispatch/chats.ts", source)).toEqual([]);
});

test("a folder with more than twenty files is refused", () => {
  const files = (count: number) => Array.from({ length: count }, (_, index) => `src/a/f${index}.ts`);
  expect(fullFoldersIn(files(25))).toEqual([]);
  expect(fullFoldersIn(files(26))).toEqual(["src/a/ has 26 files; the limit is 25"]);
});

test("a tool reaches files and processes through the backends of its run alone", () => {
  for (const source of [
    `import { readFile } from "node:fs/promises";`,
    `import { spawn } from "node:child_process";`,
    `import { FileAccess } from "../host/access.ts";`,
  ]) {
    expect(reasons("src/tools/files/read.ts", source)).toHaveLength(1);
    expect(reasons("src/tools/host/host.ts", source.replace("../host", "."))).toEqual([]);
  }
});

/** The arguments of each call of a function, as they are written. */
function argumentsOf(name: string, source: string): string[] {
  return [...source.matchAll(new RegExp(`${name}\\(`, "g"))].map(({ index, 0: { length } }) => {
    let depth = 1;
    let at = index + length;
    for (; depth > 0 && at < source.length; at += 1) depth += { "(": 1, ")": -1 }[source.charAt(at)] ?? 0;
    return source.slice(index + length, at - 1);
  });
}

test("an exported name has one meaning, whatever its kind, unless each adapter or module has its own", () => {
  const found = (files: Readonly<Record<string, string>>) =>
    sharedNamesIn(new Map(Object.entries(files))).filter((line) => !line.startsWith("scripts/"));
  const kinds = ["const Word = 1;", "type Word = 1;", "interface Word {}", "class Word {}", "async function Word() {}"];
  for (const kind of kinds)
    expect(found({ "src/reply/a.ts": `export ${kind}`, "src/types/b.ts": "export let Word = 2;" }), kind).toEqual([
      "Word has one meaning: rename it in all but one of src/reply/a.ts, src/types/b.ts",
    ]);
  expect(found({ "src/reply/a.ts": "export const word = 1;", "src/types/b.ts": "const word = 1;" })).toEqual([]);
  expect(found({ "src/reply/a.ts": 'export { word } from "../b.ts";', "src/b.ts": "export let word;" })).toEqual([]);
  expect(found({ "src/store/checks.ts": "export let checks;", "src/b/c.ts": "export let checks;" })).toEqual([]);
  const connect = "export async function connect() {}";
  expect(found({ "extensions/slack/a.ts": connect, "extensions/signal/a.ts": connect })).toEqual([]);
  expect(found({ "extensions/slack/a.ts": connect, "extensions/slack/b.ts": connect })).toHaveLength(1);
  expect(found({ "extensions/slack/a.ts": connect, "src/mcp/a.ts": connect })).toHaveLength(1);
  const plan = "export interface Plan {}";
  expect(found({ "src/types/plan.ts": plan, "extensions/webchat/page/plan.ts": plan })).toEqual([]);
  expect(found({ "src/types/plan.ts": plan, "src/tools/plan.ts": plan })).toHaveLength(1);
});

test("no test waits for a second only, as `vi.waitFor` and `vi.waitUntil` do by themselves", () => {
  const short = globSync(["test/**/*.ts", "extensions/*/test/**/*.ts"]).filter((file) => {
    const source = file.endsWith("skeleton.test.ts") ? "" : readFileSync(file, "utf8");
    const waits = ["vi\\.waitFor", "vi\\.waitUntil"].flatMap((name) => argumentsOf(name, source));
    return waits.some((wait) => !/PATIENCE|timeout|_000|SOON/.test(wait));
  });
  expect(short).toEqual([]);
});
