import { afterEach, beforeEach, expect, it } from "vitest";
import { isAlive, textOf } from "../../kit/tools.ts";
import { builtInTools } from "../../../scripts/docs/built-in-tools.ts";
import { loadConfigText } from "../../kit/config-text.ts";
import { contracted, fileToolContract, toolContract } from "./contract.ts";
import { openGround, type Ground } from "./ground.ts";

fileToolContract({
  name: "read",
  valid: { path: "a" },
  at: (path) => ({ path }),
  onPlain: /^plain\n$/,
  refuses: ["binary", "holes"],
});
fileToolContract({
  name: "write",
  valid: { path: "a", content: "x" },
  at: (path) => ({ path, content: "plain\n" }),
  onPlain: /has this content already/,
  refuses: ["deep"],
});
fileToolContract({
  name: "edit",
  valid: { path: "a", edits: [{ oldText: "x", newText: "y" }], oldText: "x", newText: "y" },
  at: (path) => ({ path, oldText: "plain", newText: "changed" }),
  onPlain: /Changed 1 place/,
  refuses: ["binary", "latin1", "holes", "text-and-holes"],
});
fileToolContract({
  name: "apply_patch",
  valid: { input: "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch" },
  at: (path) => ({ input: `*** Begin Patch\n*** Update File: ${path}\n@@\n-plain\n+changed\n*** End Patch` }),
  // A line of a patch cannot hold every name.
  onPlain: /^Applied|^Line|no such file/,
  refuses: ["binary", "latin1", "holes", "text-and-holes"],
});
fileToolContract({
  name: "grep",
  valid: { pattern: "x" },
  at: (path) => ({ path, pattern: "plain" }),
  refuses: [],
});
fileToolContract({
  name: "find",
  valid: { pattern: "*" },
  at: (path) => ({ path, pattern: "*" }),
  refuses: ["binary"],
});
fileToolContract({ name: "ls", valid: { path: "." }, at: (path) => ({ path }), refuses: ["binary"] });
fileToolContract({
  name: "image",
  valid: { image: "a" },
  at: (path) => ({ image: path }),
  onPlain: /is no image/,
  refuses: ["deep", "binary", "latin1", "holes", "text-and-holes"],
});
fileToolContract({
  name: "pdf",
  valid: { pdf: "a" },
  at: (path) => ({ pdf: path }),
  onPlain: /is no PDF file/,
  refuses: ["deep", "binary", "latin1", "holes", "text-and-holes"],
});
fileToolContract({
  name: "image_generate",
  valid: { prompt: "a cat" },
  at: (path) => ({ prompt: "a cat", image: path }),
  onPlain: /is no image|No model can be asked/,
  refuses: ["deep", "binary", "latin1", "holes", "text-and-holes"],
});
toolContract({ name: "browser", valid: { action: "status" } });
toolContract({ name: "message", valid: { action: "send", message: "hi" } });
toolContract({ name: "tts", valid: { text: "hi" } });
toolContract({ name: "llm-task", valid: { prompt: "Say hi." } });
toolContract({ name: "web_search", valid: { query: "weather" } });
toolContract({ name: "web_fetch", valid: { url: "http://127.0.0.1:1/" } });
toolContract({ name: "exec", valid: { command: "touch made" } });
toolContract({ name: "update_plan", valid: { plan: [{ step: "look", status: "pending" }] } });
toolContract({ name: "session_status", valid: { sessionKey: "s1" } });
toolContract({ name: "gateway", valid: { action: "config.get", path: "messages" } });
toolContract({ name: "agents_list", valid: {}, takesNothing: true });
toolContract({ name: "process", valid: { action: "poll", sessionId: "none" } });

toolContract({ name: "cron", valid: { action: "add", job: { name: "x" } } });
toolContract({ name: "sessions_list", valid: { limit: 5 } });
toolContract({ name: "sessions_history", valid: { sessionKey: "s1" } });
toolContract({ name: "sessions_search", valid: { query: "x" } });
toolContract({ name: "sessions_send", valid: { sessionKey: "s1", message: "x" } });
toolContract({ name: "sessions_spawn", valid: { task: "x" } });
toolContract({ name: "sessions_yield", valid: { message: "x" } });
toolContract({ name: "subagents", valid: { action: "list" } });
toolContract({ name: "tts", valid: { text: "x" } });

it("every built-in tool has this contract", async () => {
  const { config } = await loadConfigText("{}", { path: "/x/openclaw.json", env: {} });
  const others = builtInTools(config.browser).flatMap(({ name }) => (contracted.has(name) ? [] : [name]));
  expect(others).toEqual([]);
});

let ground: Ground;
beforeEach(() => {
  ground = openGround();
});
afterEach(() => ground.close());

it("exec refuses a command that is too long or has a NUL character, and runs nothing", async () => {
  for (const command of [`touch made; : ${"x".repeat(5_000_000)}`, "touch made\0"]) {
    const result = await ground.call("exec", { command });
    expect(result.isError).toBe(true);
    expect(textOf(result).length).toBeLessThan(52 * 1024);
  }
  expect(() => ground.get("made")).toThrow();
});

it("exec ends with all it started after an abort, whatever it writes and ignores", async () => {
  const abort = new AbortController();
  const running = ground.call(
    "exec",
    { command: "trap '' TERM; echo $$ > pid; (sleep 500 & echo $! > child); while :; do yes | head -c 100000; done" },
    { signal: abort.signal },
  );
  await expect.poll(() => [ground.get("pid"), ground.get("child")].every((text) => text.endsWith("\n"))).toBe(true);
  abort.abort();
  expect(Buffer.byteLength(textOf(await running))).toBeLessThan(52 * 1024);
  const pids = [ground.get("pid"), ground.get("child")].map(Number);
  await expect.poll(() => pids.some(isAlive), { timeout: 20_000 }).toBe(false);
});
