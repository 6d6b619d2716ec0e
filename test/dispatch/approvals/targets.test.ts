import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endOldQuestions } from "../../../src/dispatch/resume/old-questions.ts";
import { textResult } from "../../../src/tools/define.ts";
import type { Peer } from "../../../src/types/chat/message.ts";
import type { ApprovalQuestion } from "../../../src/types/run/tool.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { peer } from "../../kit/inbound.ts";
import { makeTool } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
let asks: Partial<ApprovalQuestion>;
const answers: string[] = [];

beforeEach(async () => {
  answers.length = 0;
  asks = {};
  fixture = await openDispatchFixture();
  fixture.approverClients = () => 0;
  fixture.tools.push(
    makeTool("ask", async (_input, { approvals, signal }) => {
      const question = { command: "rm -rf x", cwd: "/w", reason: "not on the list", ...asks };
      const answer = await approvals.ask(question, signal);
      answers.push(answer);
      return textResult(answer);
    }),
  );
  fixture.model.answer((call) => (call.isAfterTool ? { text: `it was ${call.toolText}` } : { tool: "ask", args: {} }));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const DESK = peer("desk");
const NIGHT = peer("night");

const route = (targets: readonly Peer[], more: { isInChat?: boolean; unusable?: readonly string[] } = {}) => {
  fixture.rules = {
    ...fixture.rules,
    approvalRoute: () => ({ isInChat: false, targets, unusable: [], ...more }),
  };
};

const copies = () =>
  fixture.platform.messages.filter(({ text, edits }) => [text, ...edits].join().includes("rm -rf x"));
const chats = () => copies().map(({ chat }) => chat);

async function asked(count: number): Promise<string> {
  await until(() => copies().length === count, `${count} copies of the question`);
  return boot.chat.approvals.list()[0]!.id;
}

describe("a question with targets", () => {
  it("is shown in each and not in its chat; an answer from one is the end of every copy", async () => {
    route([DESK, NIGHT, DESK]);
    const row = await boot.tell("do it", "1");
    const id = await asked(2);
    expect(chats().toSorted()).toEqual(["desk", "night"]);
    expect(copies()[0]!.text).toContain("in telegram:1:");
    expect(copies().map(({ buttons }) => buttons)).toEqual([
      [`/approve ${id} once`, `/approve ${id} deny`],
      [`/approve ${id} once`, `/approve ${id} deny`],
    ]);
    await boot.ask(`/approve ${id} once`, "owner");
    await boot.outcome(row);
    await until(() => copies().every(({ text, buttons }) => text.includes("Allowed once.") && buttons.length === 0));
    expect(answers).toEqual(["allow-once"]);
  });

  it("is shown in its chat too where the config says both, and once where a target is that chat", async () => {
    route([peer("owner"), DESK], { isInChat: true });
    const row = await boot.tell("do it", "owner");
    const id = await asked(2);
    expect(chats().toSorted()).toEqual(["desk", "owner"]);
    await boot.ask(`/approve ${id} deny`, "owner");
    await boot.outcome(row);
    await until(() => copies().every(({ text }) => text.includes("Denied.")));
  });

  it("is not for people of a target who are no owners", async () => {
    route([DESK]);
    const row = await boot.tell("do it", "1");
    const id = await asked(1);
    await boot.ask(`/approve ${id} once`, "desk");
    expect(answers).toEqual([]);
    expect(fixture.platform.texts.at(-1)).toContain("Only an owner");
    await boot.ask(`/approve ${id} deny`, "owner");
    await boot.outcome(row);
    expect(answers).toEqual(["deny"]);
  });

  it("is answered by whom the channel names, and by no owner whom it leaves out", async () => {
    route([DESK]);
    fixture.rules = { ...fixture.rules, mayApprove: ({ sender }) => sender.id === "desk" };
    const row = await boot.tell("do it", "1");
    const id = await asked(1);
    await boot.ask(`/approve ${id} deny`, "owner");
    expect(fixture.platform.texts.at(-1)).toContain("execApprovals.approvers");
    await boot.ask(`/approve ${id} always`, "desk");
    expect(fixture.platform.texts.at(-1)).toContain("only an owner allows for good");
    await boot.outcome(row);
    expect(answers).toEqual(["allow-once"]);
  });

  it("of a plugin is for owners, whoever else the channel names", async () => {
    route([DESK]);
    asks = { askedBy: "plugin" };
    fixture.rules = { ...fixture.rules, mayApprove: ({ sender }) => sender.id === "desk" };
    const row = await boot.tell("do it", "1");
    const id = await asked(1);
    await boot.ask(`/approve ${id} once`, "desk");
    expect(fixture.platform.texts.at(-1)).toContain("Only an owner");
    await boot.ask(`/approve ${id} deny`, "owner");
    await boot.outcome(row);
    expect(answers).toEqual(["deny"]);
  });

  it("takes the first answer of two, and tells the second who was first", async () => {
    route([DESK, NIGHT]);
    const row = await boot.tell("do it", "1");
    const id = await asked(2);
    await Promise.all([boot.ask(`/approve ${id} deny`, "owner"), boot.ask(`/approve ${id} once`, "owner")]);
    await boot.outcome(row);
    expect(answers).toEqual(["deny"]);
    expect(fixture.platform.texts.join("\n")).toContain("waits no more: it was already denied by telegram:owner");
  });

  it("of a client's turn waits for its targets, though no client may answer", async () => {
    route([DESK]);
    const row = await boot.tell("do it", "1", { options: { operator: true, sessionKey: boot.keyOf("1") } });
    const id = await asked(1);
    boot.chat.approvals.resolve(id, "allow-once");
    await boot.outcome(row);
    expect(answers).toEqual(["allow-once"]);
  });

  it("of a plugin says so", async () => {
    asks = { askedBy: "plugin" };
    route([DESK]);
    const row = await boot.tell("do it", "1");
    const id = await asked(1);
    expect(copies()[0]!.text).toContain("A plugin asks whether to allow a call of the agent for");
    boot.chat.approvals.resolve(id, "deny");
    await boot.outcome(row);
  });

  it("is replaced once the platform is there again, when it is answered while the platform is away", async () => {
    route([DESK], { isInChat: true });
    const row = await boot.tell("do it", "owner");
    const id = await asked(2);
    fixture.isLinked = false;
    boot.chat.approvals.resolve(id, "deny");
    await until(async () => (await boot.journal.outbox.open()).some(({ replyKey }) => replyKey.endsWith(":to:0:end")));
    fixture.isLinked = true;
    await boot.outcome(row);
    await until(() => copies().every(({ text, buttons }) => text.includes("Denied.") && buttons.length === 0));
    expect(chats().toSorted()).toEqual(["desk", "owner"]);
  });

  it("gets its end as a further message where the platform cannot edit", async () => {
    Object.assign(fixture.platform, { edit: undefined });
    route([DESK]);
    const row = await boot.tell("do it", "1");
    boot.chat.approvals.resolve(await asked(1), "deny");
    await boot.outcome(row);
    await until(() => copies().length === 2);
    expect(copies()[1]).toMatchObject({ chat: "desk", buttons: [], text: expect.stringContaining("Denied.") });
  });
});

describe("a question whose targets nobody reads", () => {
  it("is a denial at once, and the log has the reason", async () => {
    route([], { unusable: [`approvals.exec.targets[0] names the channel "sms", which is not on`] });
    await boot.ask("do it", "owner");
    expect(answers).toEqual(["no_target"]);
    expect(fixture.log.lines).toContain("warn approval target not usable");
    expect(boot.chat.approvals.list()).toEqual([]);
  });

  it("is a denial at once where no owner can write in their channel", async () => {
    route([DESK]);
    fixture.rules = { ...fixture.rules, hasApproverIn: () => false };
    await boot.ask("do it", "owner");
    expect([answers, copies()]).toEqual([["no_target"], []]);
  });

  it("is a denial at once where a target does not show it in one message", async () => {
    route([DESK]);
    fixture.limits = { ...fixture.limits, text: 120 };
    await boot.ask("do it", "owner");
    expect([answers, copies()]).toEqual([["unshown"], []]);
  });

  it("still waits in its chat where the config says both", async () => {
    route([], { isInChat: true, unusable: ["approvals.exec.targets[0] names no chat"] });
    const row = await boot.tell("do it", "owner");
    boot.chat.approvals.resolve(await asked(1), "deny");
    await boot.outcome(row);
    expect(answers).toEqual(["deny"]);
  });
});

it("the copies that a killed gateway left are all ended at the next start", async () => {
  route([DESK, NIGHT], { isInChat: true });
  await boot.tell("do it", "owner");
  await asked(3);
  const next = await fixture.boot();
  await endOldQuestions(next.ports);
  await until(() =>
    fixture.platform.messages.every(({ text, buttons }) => text.includes("restarted") && buttons.length === 0),
  );
  expect(chats().toSorted()).toEqual(["desk", "night", "owner"]);
});

it("an answer after a restart learns that the restart denied the command, or that nobody asked", async () => {
  await boot.tell("do it", "owner");
  const id = await asked(1);
  const next = await fixture.boot();
  await next.ask(`/approve ${id} once`, "owner");
  expect(fixture.platform.texts.at(-1)).toContain("the gateway was restarted before anybody answered, which denied it");
  await next.ask("/approve zzzzzz once", "owner");
  expect(fixture.platform.texts.at(-1)).toContain('No question has the id "zzzzzz".');
});

it("a question that was answered right before a kill is not called unanswered", async () => {
  await boot.tell("do it", "owner");
  const id = await asked(1);
  Object.assign(fixture.platform, { edit: undefined });
  boot.chat.approvals.resolve(id, "allow-once");
  await until(() => answers.length === 1);
  Reflect.deleteProperty(fixture.platform, "edit");
  await endOldQuestions((await fixture.boot()).ports);
  await until(() => copies()[0]!.text.startsWith("Allowed once. The gateway ended soon"));
});
