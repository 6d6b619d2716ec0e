import { z } from "zod";
import { approvalAnswers, PERSONS_ANSWERS } from "../../types/answers/approvals.ts";
import { answersTo, type ClientQuestion, endText, type QuestionEnd } from "../../types/chat/question-end.ts";
import { agentId, runId } from "../../types/ids.ts";
import { keyParam } from "../../types/key-field.ts";
import { defineMethod, InStages, MethodError, type Method } from "../../types/method.ts";
import type { ServerPorts } from "../options.ts";
import {
  type ApprovalKind,
  approvalRequested,
  approvalResolved,
  commandFacts,
  approvalKind,
  REASONS,
  showApproval,
  showRecord,
} from "../events/approval-events.ts";
import { type Approval, SEVERITIES } from "../../types/run/tool.ts";
import type { Hub } from "../transport/hub.ts";
import { asPluginQuestion, showsOnlyPlugins } from "../transport/plugin-questions.ts";

type Approvals = ServerPorts["chat"]["approvals"];
type Ports = Pick<ServerPorts, "chat" | "catalog" | "clock">;

const SCOPE = "operator.approvals";
const idParams = z.looseObject({ id: z.string().min(1) });

/** Methods for questions that wait for a person: of runs, of plugins, and of clients. */
export function approvalMethods(ports: Ports, hub: Hub): readonly Method[] {
  const { approvals } = ports.chat;
  return [
    ...questionMethods("exec", approvals),
    ...questionMethods("plugin", approvals),
    ...recordMethods(approvals),
    askMethod({ name: "exec.approval.request", params: execParams, read: readExec }, ports, hub),
    askMethod({ name: "plugin.approval.request", params: pluginParams, read: readPlugin }, ports, hub),
    defineMethod({
      name: "exec.approval.get",
      scope: SCOPE,
      params: idParams,
      result: approvalAnswers.get,
      async run({ id }) {
        const approval = approvals.list().find((one) => one.id === id && approvalKind(one) === "exec");
        if (approval === undefined) throw tooLate(await approvals.endOf(id));
        return {
          id,
          ...commandFacts(approval),
          allowedDecisions: answersTo(approval),
          expiresAtMs: approval.expiresAt,
        };
      },
    }),
    defineMethod({
      name: "exec.approval.grants.revoke",
      scope: SCOPE,
      params: z.looseObject({ grantId: z.string().min(1) }),
      result: z.looseObject({ outcome: z.string() }),
      // Automations of this gateway get no grants: what is allowed for good is in `exec-approvals.json`.
      run: async () => ({ outcome: "not-found" }),
    }),
  ];
}

/** The methods of one kind of question. Ids are of all kinds. */
function questionMethods(kind: ApprovalKind, approvals: Approvals): readonly Method[] {
  const isListed = (approval: Approval) => approvalKind(approval) === kind;
  return [
    defineMethod({
      name: `${kind}.approval.list`,
      scope: SCOPE,
      params: z.looseObject({}),
      result: approvalAnswers.list,
      async run(_params, { client }) {
        const isForPlugins = kind === "plugin" && showsOnlyPlugins(client.id);
        const listed = approvals.list().filter((one) => isForPlugins || isListed(one));
        return listed.map(showApproval).map((shown) => (isForPlugins ? asPluginQuestion(shown) : shown));
      },
    }),
    defineMethod({
      name: `${kind}.approval.resolve`,
      scope: SCOPE,
      params: z.looseObject({ id: z.string().min(1), decision: z.enum(PERSONS_ANSWERS) }),
      result: approvalAnswers.resolve,
      run: async ({ id, decision }, { client }) => {
        const asked = approvals.list().find((one) => one.id === id);
        if (asked && !isListed(asked) && !showsOnlyPlugins(client.id)) throw tooLate(undefined);
        if (approvals.resolve(id, decision)) return { ok: true, id, decision };
        const offered = approvals.offered(id);
        if (offered) throw notOffered(decision, offered);
        const end = await approvals.endOf(id);
        // Another client may have decided the same at the same time.
        if (end?.how === decision) return { ok: true, id, decision };
        throw tooLate(end);
      },
    }),
    defineMethod({
      name: `${kind}.approval.waitDecision`,
      scope: SCOPE,
      mayWait: true,
      params: idParams,
      result: approvalAnswers.decision,
      async run({ id }) {
        const waiting = approvals.list().find((one) => one.id === id);
        const end = await (approvals.whenEnded(id) ?? approvals.endOf(id));
        if (end === undefined) throw tooLate(end);
        const ended = (await approvals.history()).find((one) => one.id === id);
        return { ...decisionOf(id, end, waiting ?? ended), terminalReason: REASONS[end.how] };
      },
    }),
  ];
}

function recordMethods(approvals: Approvals): readonly Method[] {
  const find = async (id: string) => {
    const waiting = approvals.list().find((one) => one.id === id);
    const found = waiting ?? (await approvals.history()).find((one) => one.id === id);
    return found && { kind: approvalKind(found), shown: showRecord(found) };
  };
  return [
    defineMethod({
      name: "approval.get",
      scope: SCOPE,
      params: idParams,
      result: z.looseObject({ approval: approvalAnswers.record }),
      async run({ id }) {
        const found = await find(id);
        if (found === undefined) throw tooLate(undefined);
        return { approval: found.shown };
      },
    }),
    defineMethod({
      name: "approval.resolve",
      scope: SCOPE,
      params: z.looseObject({ id: z.string().min(1), kind: z.string(), decision: z.enum(PERSONS_ANSWERS) }),
      result: z.looseObject({ applied: z.boolean(), approval: approvalAnswers.record }),
      async run({ id, kind, decision }) {
        const asked = await find(id);
        if (asked === undefined) throw tooLate(undefined);
        if (asked.shown.status !== "pending") return { applied: false, approval: asked.shown };
        if (asked.kind !== kind) throw ofOtherKind(kind, asked.kind);
        const ended = approvals.whenEnded(id);
        const offered = approvals.offered(id);
        const applied = approvals.resolve(id, decision);
        if (!applied && offered) throw notOffered(decision, offered);
        await ended;
        const found = await find(id);
        if (found === undefined) throw tooLate(undefined);
        return { applied, approval: found.shown };
      },
    }),
    defineMethod({
      name: "approval.history",
      scope: SCOPE,
      params: historyParams,
      result: z.looseObject({ items: z.array(approvalAnswers.record), nextCursor: z.string().optional() }),
      async run({ cursor, limit = DEFAULT_PAGE, kind }) {
        const all = (await approvals.history()).filter((one) => kind === undefined || approvalKind(one) === kind);
        const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
        const page = all.slice(from, from + limit);
        const last = from + limit < all.length ? page.at(-1) : undefined;
        return { items: page.map(showRecord), ...(last && { nextCursor: last.id }) };
      },
    }),
  ];
}

const DEFAULT_PAGE = 50;
const historyParams = z.looseObject({
  /** The `nextCursor` of the page before. */
  cursor: z.string().min(1).max(512).optional(),
  limit: z.int().min(1).max(100).optional(),
  kind: z.enum(["exec", "plugin", "system-agent"]).optional(),
});

/** What a client may say of its own question, of either kind. */
const askParams = z.looseObject({
  id: z.string().min(1).max(128).nullish(),
  agentId: z.string().min(1).nullish(),
  sessionKey: keyParam().nullish(),
  runId: z.string().min(1).nullish(),
  timeoutMs: z.int().min(1).nullish(),
  /** Whether an answer comes at once, and another one with the decision. */
  twoPhase: z.boolean().optional(),
});
const execParams = askParams.extend({
  command: z.string().min(1).nullish(),
  commandArgv: z.array(z.string()).nullish(),
  cwd: z.string().nullish(),
  warningText: z.string().nullish(),
  unavailableDecisions: z.array(z.string()).nullish(),
});
const pluginParams = askParams.extend({
  title: z.string().min(1).max(80),
  description: z.string().min(1).max(512),
  severity: z.enum(SEVERITIES).nullish(),
  toolName: z.string().nullish(),
  pluginId: z.string().nullish(),
  allowedDecisions: z.array(z.string()).nullish(),
});

type Words = Pick<ClientQuestion, "command" | "cwd" | "reason" | "allowing" | "askedBy" | "plugin">;

const ALLOWING = ["allow-once", "allow-always"] as const;

function readExec(params: z.output<typeof execParams>): Words {
  const command = params.command ?? params.commandArgv?.join(" ");
  if (command === undefined) throw new MethodError("INVALID_REQUEST", "`command` or `commandArgv` is required");
  const { cwd, warningText, unavailableDecisions } = params;
  const allowing = ALLOWING.filter((answer) => unavailableDecisions?.includes(answer) !== true);
  return { command, cwd: cwd ?? "", reason: warningText ?? "", allowing };
}

function readPlugin({
  title,
  description,
  severity,
  toolName,
  pluginId,
  ...more
}: z.output<typeof pluginParams>): Words {
  const plugin = {
    title,
    description,
    ...(severity && { severity }),
    ...(toolName && { toolName }),
    ...(pluginId && { pluginId }),
  };
  const { allowedDecisions } = more;
  const allowing = ALLOWING.filter((answer) => allowedDecisions?.includes(answer) !== false);
  return { askedBy: "plugin", plugin, command: description, cwd: "", reason: title, allowing };
}

interface Asking<Params> {
  readonly name: string;
  readonly params: z.ZodType<Params>;
  read(params: Params): Words;
}

/** Most characters of a question that a client asks, as JSON, and most questions that wait. */
const MOST_CHARS = 64 * 1024;
const MOST_WAITING = 200;

/** The method with which a client asks people something. */
function askMethod<Params extends z.output<typeof askParams>>(
  { name, params: schema, read }: Asking<Params>,
  { chat: { approvals }, catalog, clock }: Ports,
  hub: Hub,
): Method {
  return defineMethod({
    name,
    scope: SCOPE,
    mayWait: true,
    params: schema,
    result: approvalAnswers.decision,
    async run(params: Params) {
      const { id, agentId: agent, sessionKey: key, runId: run, timeoutMs, twoPhase } = params;
      if (JSON.stringify(params).length > MOST_CHARS)
        throw new MethodError("INVALID_REQUEST", `the question has more than ${MOST_CHARS} characters`);
      if (approvals.list().length >= MOST_WAITING)
        throw new MethodError("UNAVAILABLE", `${MOST_WAITING} questions wait for an answer already`, {
          retryAfterMs: 5000,
        });
      if (id && (await approvals.endOf(id)) !== undefined) throw idTaken();
      const asked = approvals.askFor({
        ...read(params),
        ...(id && { id }),
        agentId: agent ? agentId(agent) : catalog.defaultAgent,
        ...(key && { sessionKey: key }),
        ...(run && { runId: runId(run) }),
        ...(timeoutMs && { timeoutMs }),
      });
      if (!asked) throw idTaken();
      const { approval } = asked;
      hub.publish(approvalRequested(approval));
      const outcome = async () => {
        const end = await asked.ended;
        return decisionOf(approval.id, end, approval);
      };
      const told = asked.ended.then(({ how, by }) => {
        const decision = how === "restart" ? "deny" : how;
        const end = { id: approval.id, decision, ...(by !== undefined && { resolvedBy: by }), ts: clock.now() };
        hub.publish(approvalResolved(end, approvalKind(approval)));
      });
      const { createdAt: createdAtMs, expiresAt: expiresAtMs } = approval;
      const accepted = { status: "accepted", deliveryRoute: "approval-client" };
      if (twoPhase === true) return new InStages({ ...accepted, id: approval.id, createdAtMs, expiresAtMs }, outcome);
      await told;
      return outcome();
    },
  });
}

function decisionOf(
  id: string,
  { how }: QuestionEnd,
  asked: { readonly createdAt: number; readonly expiresAt: number } | undefined,
) {
  const decision = how === "timeout" || how === "abort" || how === "restart" ? null : how;
  return { id, decision, ...(asked && { createdAtMs: asked.createdAt, expiresAtMs: asked.expiresAt }) };
}

const ofOtherKind = (kind: string, is: ApprovalKind): MethodError =>
  new MethodError("INVALID_REQUEST", `kind: this is no approval of the kind "${kind}" but of "${is}"; it still waits`, {
    details: { code: "APPROVAL_KIND_MISMATCH", approvalKind: is },
  });

const notOffered = (decision: string, allowedDecisions: readonly string[]): MethodError =>
  new MethodError("INVALID_REQUEST", `this approval does not offer ${decision}`, {
    details: { code: "APPROVAL_DECISION_NOT_ALLOWED", allowedDecisions },
  });

const idTaken = (): MethodError =>
  new MethodError("CONFLICT", "there is or was a question with this id, or the gateway stops", {
    details: { reason: "APPROVAL_ID_IN_USE" },
  });

/** Why an answer is not taken. The field's clients know one `code`, and these two values of `reason`. */
function tooLate(end: QuestionEnd | undefined): MethodError {
  const code = "APPROVAL_NOT_FOUND";
  if (end === undefined)
    return new MethodError("NOT_FOUND", "unknown approval id", { details: { code, reason: code, ended: "unknown" } });
  const { how, by } = end;
  const ended = LATE[how];
  const reason = ended === "resolved" ? "APPROVAL_ALREADY_RESOLVED" : code;
  const details = { code, reason, ended, decision: how, ...(by !== undefined && { resolvedBy: by }) };
  return new MethodError("NOT_FOUND", `this approval waits no more: ${endText(end)}`, { details });
}

const LATE: Readonly<Record<QuestionEnd["how"], string>> = {
  "allow-once": "resolved",
  "allow-always": "resolved",
  deny: "resolved",
  timeout: "expired",
  abort: "run-aborted",
  restart: "gateway-restart",
};
