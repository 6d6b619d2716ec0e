import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { textResult } from "../../../src/tools/define.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { peer } from "../../kit/inbound.ts";
import { makeTool } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
let clients: number;
const answers: string[] = [];

beforeEach(async () => {
  answers.length = 0;
  clients = 0;
  fixture = await openDispatchFixture();
  fixture.approverClients = () => clients;
  fixture.tools.push(
    makeTool("ask", async (_input, { approvals, signal }) => {
      const answer = await approvals.ask({ command: "rm -rf x", cwd: "/w", reason: "not on the list" }, signal);
      answers.push(answer);
      return textResult(answer);
    }),
  );
  fixture.model.answer((call) => (call.isAfterTool ? { text: `it was ${call.toolText}` } : { tool: "ask", args: {} }));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const GROUP = { ...peer("-200"), chat: { kind: "group" as const, id: "-200", title: "Team" } };
const HEARTBEAT = { operator: true, kind: "heartbeat", heartbeat: { ackMaxChars: 300 } } as const;
const SUBAGENT = { operator: true, kind: "subagent", subagent: { depth: 1, isOwner: true } } as const;
const OPERATOR = { operator: true } as const;

interface Turn {
  readonly what: string;
  readonly from?: string;
  readonly more?: Partial<InboundMessage>;
  /** The config names an owner of the channel. */
  readonly hasOwner: boolean;
}

const begin = async ({ from = "1", more = {}, hasOwner }: Turn) => {
  fixture.rules = { hasApproverIn: () => hasOwner };
  const options = more.options && { ...more.options, sessionKey: boot.keyOf(from) };
  return boot.tell("do it", from, { ...more, ...(options && { options }) });
};

const IN_GROUP = { from: GROUP };
const OF_CLIENT = { options: OPERATOR };
const OF_SUBAGENT = { options: SUBAGENT };
const BEAT = {
  what: "a heartbeat in the owner's chat",
  from: "owner",
  more: { options: { ...HEARTBEAT, deliverTo: peer("owner") } },
  hasOwner: true,
};

describe("a question that nobody could answer is a denial at once", () => {
  it.each<Turn & { why: string }>([
    { what: "a chat, without any owner", hasOwner: false, why: "no_owner" },
    { what: "a group whose channel has no owner", more: IN_GROUP, hasOwner: false, why: "no_owner" },
    { what: "the direct chat of somebody who is no owner", hasOwner: true, why: "no_viewer" },
    { what: "a client that may not decide approvals", more: OF_CLIENT, hasOwner: true, why: "no_client" },
    { what: "a subagent", more: OF_SUBAGENT, hasOwner: true, why: "unattended" },
    { ...BEAT, why: "unattended" },
  ])("$what", async ({ why, ...turn }) => {
    await boot.outcome(await begin(turn));
    expect(answers).toEqual([why]);
    expect(boot.chat.approvals.list()).toEqual([]);
    expect(fixture.platform.texts.filter((text) => text.includes("/approve"))).toEqual([]);
    expect(fixture.log.lines).toContain("warn approval not asked");
  });

  it("a heartbeat, though clients are connected", async () => {
    clients = 1;
    await boot.outcome(await begin(BEAT));
    expect(answers).toEqual(["unattended"]);
  });

  it("a request to the OpenAI endpoint", async () => {
    const run = await boot.chat.oneShot({
      agentId: boot.ports.settings().defaultAgent,
      messages: [{ role: "user", content: "do it", timestamp: 1 }],
      media: [],
      client: {},
      idempotencyKey: "one",
      signal: new AbortController().signal,
    });
    await run.done;
    expect(answers).toEqual(["no_client"]);
    await expect
      .poll(() => boot.journal.runs.find("one"))
      .toMatchObject({ receipt: { unasked: [{ cause: "no_client", calls: 1 }] } });
  });
});

describe("a question that somebody could answer waits", () => {
  it.each<Turn>([
    { what: "in the owner's chat", from: "owner", hasOwner: true },
    { what: "in a group whose channel has an owner", more: IN_GROUP, hasOwner: true },
  ])("$what", async (turn) => {
    const row = await begin(turn);
    await until(() => boot.chat.approvals.list().length === 1, "a question");
    boot.chat.approvals.resolve(boot.chat.approvals.list()[0]!.id, "allow-once");
    await boot.outcome(row);
    expect(answers).toEqual(["allow-once"]);
  });

  it.each<Turn>([
    { what: "in a chat without an owner", hasOwner: false },
    { what: "of a client's turn", more: OF_CLIENT, hasOwner: false },
    { what: "of a subagent", more: OF_SUBAGENT, hasOwner: false },
  ])("$what, while a client is connected", async (turn) => {
    clients = 1;
    const row = await begin(turn);
    await until(() => boot.chat.approvals.list().length === 1, "a question");
    boot.chat.approvals.resolve(boot.chat.approvals.list()[0]!.id, "deny");
    await boot.outcome(row);
    expect(answers).toEqual(["deny"]);
  });
});
