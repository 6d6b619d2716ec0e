import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { Processes } from "../../src/tools/process/processes.ts";
import { systemClock } from "../../src/types/clock.ts";
import { SandboxMachine } from "../../src/tools/sandbox/machine.ts";
import { openTools } from "../../src/app/compose/agent-tools.ts";
import { openAllowances } from "../../src/app/compose/approvals/allowances.ts";
import { openFileOrigins } from "../../src/app/compose/tools/file-origins.ts";
import { chatTools } from "../../src/app/compose/tools/chat-acts.ts";
import { loadConfig } from "../../src/app/config/load.ts";
import { resolvePaths } from "../../src/app/config/paths.ts";
import { Live } from "../../src/app/live.ts";
import type { InboxRow } from "../../src/types/journal.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import type { AgentSettings } from "../../src/types/settings.ts";
import { heard, openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { peer } from "../kit/inbound.ts";
import { recordLog } from "../kit/log.ts";
import { until } from "../kit/until.ts";
import type { ModelCall, ModelReply } from "../fakes/model.ts";

/** A tool call that a person talks the model into. */
export type Call = { readonly tool: string; readonly args: Record<string, unknown> };

/** A person who writes: the model does what their message says, and answers with what the tool told it. */
export interface Person {
  readonly id: string;
  /** The calls one after the other, in one answer when there are several; what the last one told. */
  does(...calls: readonly Call[]): Promise<string>;
  /** The same, without waiting for the end. */
  begins(...calls: readonly Call[]): Promise<InboxRow>;
  says(text: string, more?: Partial<InboundMessage>): Promise<InboxRow>;
}

/** The gateway's own tools and rules over a fake platform and model. `owner` is the owner; `guest` is let in and no more. */
export interface Place {
  readonly fixture: DispatchFixture;
  readonly boot: Boot;
  readonly live: Live;
  readonly workspace: string;
  readonly owner: Person;
  readonly guest: Person;
  /** A guest in a group in which the owner is as well. */
  readonly member: Person;
  /** The owner in that group. */
  readonly ownerInGroup: Person;
  /** What waits for an owner's answer, once it does. */
  question(): Promise<ReturnType<Boot["chat"]["approvals"]["list"]>[number]>;
  /** Writes what waits to be written to `exec-approvals.json`. */
  flush(): Promise<void>;
  /** Ends the boot and begins another one, as after a restart. */
  restart(): Promise<Place>;
  close(): Promise<void>;
}

export const GROUP = { ...peer("-200"), chat: { kind: "group" as const, id: "-200", title: "Team" } };

/** Where `env` is set, commands are in the sandboxes that work in it, and may go on in the background. */
export async function openPlace(agent: Partial<AgentSettings> = {}, env?: NodeJS.ProcessEnv): Promise<Place> {
  const fixture = await openDispatchFixture();
  const state = join(fixture.dir, "state");
  const workspace = join(await realpath(fixture.dir), "workspace");
  await mkdir(workspace);
  const paths = resolvePaths({ HOME: fixture.dir, OPENCLAW_STATE_DIR: state });
  const loaded = await loadConfig({ path: paths.configPath, env: {} });
  const config = { ...loaded.config, commands: { ...loaded.config.commands, ownerAllowFrom: ["owner"] } };
  const live = new Live({ ...paths, media: join(fixture.dir, "media") }, fixture.dir, { ...loaded, config });
  const links = { link: () => fixture.platform, limits: () => fixture.limits };
  const accounts = () => [{ channel: "telegram", accountId: "default", enabled: true }];
  const exec = { security: "allowlist", ask: "on-miss", timeoutMs: 20_000, safeBins: [], pathPrepend: [] } as const;
  const tools = { global: { key: "tools" }, workspaceOnly: true };
  fixture.rules = { agent: { workspace, exec, tools, messageTool: live.defaultAgent.messageTool!, ...agent } };
  const machine = new SandboxMachine({ env: env ?? {}, dir: paths.stateSub, contributions: live.contributions });
  if (agent.sandbox && env) await machine.probe(agent.sandbox);
  const processes = env && new Processes({ clock: systemClock, exited: () => undefined });
  fixture.allTools = ({ journal, ...parts }) => {
    const { received } = journal;
    const allowances = openAllowances(live, { clock: parts.clock, log: fixture.log });
    fixture.allowances = allowances;
    flushes.set(fixture, () => allowances.close());
    return openTools(
      live,
      {
        received,
        allowances: { rules: allowances.rules },
        fileOrigins: openFileOrigins(live, { sessions: { peek: () => undefined }, received, log: recordLog() }),
        log: recordLog(),
        machine,
        processes,
      },
      chatTools({ ...parts, sent: journal.outbox, live, around: { links, accounts } }),
    );
  };
  fixture.model.answer(obey);
  return standing({ fixture, live, workspace }, await fixture.boot());
}

/** By the fixture: the allowances of its last boot. */
const flushes = new WeakMap<DispatchFixture, () => Promise<void>>();

type Base = Pick<Place, "fixture" | "live" | "workspace">;

function standing(base: Base, boot: Boot): Place {
  const person = (id: string, more: Partial<InboundMessage> = {}): Person => {
    const says: Person["says"] = (text, extra) => boot.tell(text, id, { ...more, ...extra });
    const begins: Person["begins"] = (...calls) => says(JSON.stringify(calls));
    return {
      id,
      says,
      begins,
      async does(...calls) {
        const row = await begins(...calls);
        await boot.outcome(row);
        return base.fixture.model.calls.at(-1)?.toolText ?? "";
      },
    };
  };
  return {
    ...base,
    boot,
    owner: person("owner"),
    guest: person("43"),
    member: person("44", { from: GROUP, sender: { id: "44", name: "Mem Ber" } }),
    ownerInGroup: person("owner", { from: GROUP }),
    async question() {
      await until(() => boot.chat.approvals.list().length > 0, "a question");
      return boot.chat.approvals.list()[0]!;
    },
    flush: async () => flushes.get(base.fixture)?.(),
    async restart() {
      await boot.stop();
      return standing(base, await base.fixture.boot());
    },
    close: () => base.fixture.close(),
  };
}

/** A model that does what it is told: the calls in the message, then their last result. */
function obey(call: ModelCall): ModelReply {
  if (call.isAfterTool) return { text: `told: ${call.toolText.slice(0, 200)}` };
  const said = heard(call.said);
  const calls = said.startsWith("[{") ? callsIn(said) : [];
  const [first] = calls;
  if (!first) return { text: `echo: ${said}` };
  return calls.length === 1 ? first : { raw: { status: 200, headers: SSE, body: severalCalls(calls) } };
}

const SSE = { "content-type": "text/event-stream" };

const isCall = (value: unknown): value is Call =>
  typeof value === "object" && value !== null && "tool" in value && typeof value.tool === "string" && "args" in value;

function callsIn(said: string): readonly Call[] {
  const parsed: unknown = JSON.parse(said);
  return Array.isArray(parsed) ? parsed.filter(isCall) : [];
}

/** One answer with several calls, as the chat completions API streams it. */
function severalCalls(calls: readonly Call[]): string {
  const chunk = (choice: Record<string, unknown>) =>
    `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, ...choice }] })}\n\n`;
  const tool_calls = calls.map(({ tool, args }, index) => ({
    index,
    id: `call-${index}`,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(args) },
  }));
  return `${chunk({ delta: { role: "assistant", tool_calls } })}${chunk({ delta: {}, finish_reason: "tool_calls" })}data: [DONE]\n\n`;
}
