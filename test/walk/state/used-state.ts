import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelCall, ModelReply } from "../../fakes/model.ts";
import { recorder, writeHook } from "../../kit/gateway/hook-folders.ts";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { type GatewayUnderTest, type Home, PATIENCE_MS } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import type { World } from "../../kit/gateway/world.ts";
import { until } from "../../kit/until.ts";

export const ADA = 1001;
export const BO = 1002;
const GUEST = 3003;
/** Chats of the page. */
export const KEPT = "agent:main:webchat:kept";
const DELETED = "agent:main:webchat:deleted";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const PHOTO = {
  photo: [{ file_id: "large", file_unique_id: "l", width: 1, height: 1, file_size: PNG.length }],
  caption: "keep this picture",
  text: undefined,
};

export const CONFIG = {
  commands: { ownerAllowFrom: [String(ADA), String(BO)] },
  agents: {
    defaults: { sandbox: { mode: "off" }, memorySearch: { sources: ["memory", "sessions"] } },
  },
  tools: { exec: { security: "full", ask: "off" } },
  hooks: { internal: { entries: { watcher: { enabled: true } } } },
  plugins: { entries: { tally: { enabled: true } } },
};

/** A message by which the model of `obey` calls the tool. */
export const order = (tool: string, args: object): string => `CALL ${JSON.stringify({ tool, args })}`;

/** The model does what messages order, and says what came of it. Every other message is echoed. */
export function obey(world: World): void {
  world.model.answer((asked: ModelCall): ModelReply => {
    const given = /CALL (\{.*\})/.exec(asked.said)?.[1];
    if (asked.isAfterTool) return { text: `did: ${asked.toolText.slice(0, 400)}` };
    return given === undefined ? { text: `echo: ${asked.said.slice(-200)}` } : (JSON.parse(given) as ModelReply);
  });
}

/** Says it in a private chat, and resolves with what the bot says next there. */
export async function say(world: World, text: string, from = ADA, more: Record<string, unknown> = {}): Promise<string> {
  const before = world.telegram.shown(from).length;
  world.telegram.say(text, { from: { id: from, first_name: "Ada" }, more });
  await world.telegram.waitFor(() => world.telegram.shown(from).length > before, PATIENCE_MS);
  return world.telegram.shown(from).slice(before).join("\n");
}

/** Says it on the page, and waits until the conversation has the answer, with this text. */
export async function sayOnPage(
  gateway: GatewayUnderTest,
  sessionKey: string,
  message: string,
  answer = `echo: ${message}`,
): Promise<void> {
  await call(gateway, "chat.send", { sessionKey, message, idempotencyKey: randomUUID() });
  const history = async () => JSON.stringify(await call(gateway, "chat.history", { sessionKey }));
  await until(async () => (await history()).includes(answer), answer, PATIENCE_MS);
}

/** A home whose gateway has done a bit of everything that leaves something in the state directory. It runs. */
export async function usedState(world: World): Promise<{ home: Home; gateway: GatewayUnderTest }> {
  obey(world);
  world.telegram.file("large", PNG);
  const home = await world.home(world.config(CONFIG));
  const { stateDir } = home;
  writeHook(join(stateDir, "hooks"), {
    name: "watcher",
    events: ["command", "message"],
    code: recorder("events.jsonl"),
    file: "handler.ts",
  });
  const folder = writePlugin(join(home.dir, "sources"), {
    id: "tally",
    code: "export default { id: 'tally', register() {} };",
  });
  const installed = await home.run(["plugins", "install", folder, "--yes"]);
  if (installed.code !== 0) throw new Error(installed.stderr);
  const gateway = await home.start();
  await useTools(world, home);
  await useChats(world, gateway);
  await useJobs(gateway, home);
  await call(gateway, "agents.create", { name: "Second" });
  return { home, gateway };
}

async function useTools(world: World, { stateDir }: Home): Promise<void> {
  const workspace = join(stateDir, "workspace");
  const note = join(workspace, "memory", "2026-01-05.md");
  await say(world, order("write", { path: note, content: "# Garden\n\nThe gate code is 4417.\n" }));
  await say(world, order("read", { path: note }));
  await say(world, order("exec", { command: `cd ${workspace} && pwd && ls` }));
  await say(world, order("exec", { command: "sleep 600", background: true, workdir: workspace }));
  await say(world, order("memory_search", { query: "Which code opens the gate?" }));
  await say(world, order("message", { action: "send", message: "a file", filePath: note }));
  await say(world, "", ADA, PHOTO);
  await say(world, order("sessions_spawn", { task: "count the gates", label: "gates" }));
  await world.told(/quote this message/, ADA);
}

async function useChats(world: World, gateway: GatewayUnderTest): Promise<void> {
  await say(world, order("write", { path: "guest.md", content: "a guest's words" }), GUEST);
  await say(world, "an earlier conversation", BO);
  await say(world, "/new", BO);
  await say(world, "a later conversation", BO);
  await say(world, "/export", BO);
  await say(world, "/compact", ADA);
  await sayOnPage(gateway, KEPT, "said on the page");
  await sayOnPage(gateway, DELETED, "soon deleted");
  await call(gateway, "sessions.delete", { key: DELETED });
}

async function useJobs(gateway: GatewayUnderTest, { stateDir }: Home): Promise<void> {
  const workspace = join(stateDir, "workspace");
  mkdirSync(join(workspace, "garden"), { recursive: true });
  writeFileSync(join(workspace, "garden", "plan.md"), "tulips\n");
  const payload = {
    kind: "command",
    argv: ["sh", "-c", "pwd; cat plan.md; date >> log.txt"],
    cwd: join(workspace, "garden"),
  };
  const schedule = { kind: "every", everyMs: 86_400_000 };
  await call(gateway, "cron.add", { name: "tend", schedule, payload, delivery: { mode: "none" } });
  await runJob(gateway);
}

/** Runs the job once, to its end, and gives its output. */
export async function runJob(gateway: GatewayUnderTest): Promise<string> {
  const { jobs }: { jobs: { id: string }[] } = Object(await call(gateway, "cron.list"));
  const id = jobs[0]?.id;
  const runs = async (): Promise<{ summary?: string }[]> => Object(await call(gateway, "cron.runs", { id })).entries;
  const before = (await runs()).length;
  await call(gateway, "cron.run", { id });
  await until(async () => (await runs()).length > before, "the job's end", PATIENCE_MS);
  return (await runs())[0]?.summary ?? "";
}
