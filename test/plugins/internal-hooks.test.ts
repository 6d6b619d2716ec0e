import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { testPorts } from "../../testing/plugin-ports.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Plugins } from "../../src/plugins/host/plugins.ts";
import { readPlugin } from "../../src/plugins/manifest/read-plugin.ts";
import { writePlugin } from "../kit/gateway/plugins.ts";
import { recordLog } from "../kit/log.ts";

async function load(code: string) {
  const dir = mkdtempSync(join(tmpdir(), "internal-hooks-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const read = await readPlugin(writePlugin(dir, { id: "listener", code }), "config");
  if (read.kind !== "found") throw new Error("the plugin of the test is broken");
  const log = recordLog();
  const contributions = new Contributions([]);
  const plugins = new Plugins(contributions, { ...testPorts({ id: "listener", folder: dir, config: {} }), log });
  await plugins.apply({ plugins: [read.plugin], broken: [] });
  return { plugins, contributions, log };
}

const LISTENER = `export default (api) => {
  api.registerHook(["session:compact:before", "gateway:startup", "command:stop"], (event) => {
    api.logger.info(JSON.stringify([event.type, event.action, event.sessionKey, event.timestamp instanceof Date, event.messages]));
    api.logger.info("count " + event.context.messageCount);
  });
  api.registerHook(["command", "command:new", "tide:high"], ({ type, action }) => api.logger.info("all " + type + " " + action));
  api.registerHook("command:new", ({ action, context }) => api.logger.info(action + " " + context.sessionFile));
};`;

test("a plugin that registers internal events gets them with their type, action, session, time and facts", async () => {
  const { contributions, log } = await load(LISTENER);
  const [hook] = contributions.hooksOf("before_compaction");
  await hook?.handler({ messageCount: 7, sessionKey: "telegram:default:1" }, {});
  expect(log.lines.join("\n")).toContain(`["session","compact:before","agent:main:telegram:default:1",true,[]]`);
  expect(log.lines.join("\n")).toContain("count 7");
  expect(contributions.hooksOf("gateway_start")).toHaveLength(1);
});

test("command:new happens for /new alone, and an event that nobody tells of is named", async () => {
  const { plugins, contributions, log } = await load(LISTENER);
  expect(plugins.records[0]?.neverCalled).toEqual(["tide:high"]);
  for (const reason of ["daily", "reset", "new"])
    for (const hook of contributions.hooksOf("session:reset"))
      await hook.handler({ reason, sessionFile: `${reason}.jsonl`, messages: [] }, {});
  // Once for each event, although two of its names mean it; the general name means every command.
  for (const hook of contributions.hooksOf("command")) await hook.handler({ command: "stop" }, {});
  expect(log.lines.filter((line) => line.includes("all "))).toEqual(
    ["reset", "new", "stop"].map((name) => expect.stringContaining(`all command ${name}`)),
  );
  expect(log.lines.filter((line) => line.includes(".jsonl"))).toEqual([expect.stringContaining("new new.jsonl")]);
});
