import { z } from "zod";
import { toolAnswers } from "../../../types/answers/tools.ts";
import type { SessionKey } from "../../../types/ids.ts";
import { keyParam } from "../../../types/key-field.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import { untrustedMarkOf } from "../../../types/run/untrusted.ts";
import { explainedBy } from "../../compose/policy/subject.ts";
import { explainPolicy } from "../../compose/policy/explain.ts";
import type { Parts } from "../parts/parts.ts";
import { execOf, wishOf } from "../parts/session-rights.ts";
import { answered } from "./run-methods.ts";
import { toolsOf } from "./tool-methods.ts";

const text = z.string().min(1).max(512).optional();

/** The method that explains who may use which tool, for clients. */
export const policyMethods = (parts: Parts): readonly Method[] => [
  defineMethod({
    name: "policy.explain",
    scope: "operator.read",
    params: z.looseObject({
      agentId: text,
      sessionKey: keyParam().optional(),
      sender: text,
      channel: text,
      username: text,
      name: text,
      model: text,
      tool: text,
      command: z.string().min(1).max(20_000).optional(),
    }),
    result: toolAnswers.explain,
    run: async ({ agentId: agent, sessionKey: session, command, tool, sender, channel, username, name, model }) =>
      answered(explained({ agent, session, sender, channel, username, name, model }, { tool, command }, parts)),
  }),
];

type Who = Parameters<typeof explainedBy>[2];

async function explained(
  who: Who,
  { tool, command }: { readonly tool: string | undefined; readonly command: string | undefined },
  parts: Parts,
) {
  const { live, core, log } = parts;
  const { machine } = core.sandboxes;
  const named = command === undefined ? tool : "exec";
  const others = [...(await toolsOf(explainedBy(live, machine, who).agent, parts)).keys()];
  const found = await explainPolicy(live, machine, { ...who, tool: named, others });
  const { of, verdicts, isWithoutModel } = found;
  const wish = wishOf(core.sessions.peek(of.sessionKey));
  const exec = await execOf(of.agent, wish, live);
  const { isContainedRun, judgedCommand } = await import("../../compose/policy/judged-command.ts");
  const run = { wish, untrusted: untrustedIn(of.sessionKey, parts) };
  const judging = { live, machine, received: core.journal.received, log };
  return {
    agentId: of.agent.id,
    sessionKey: of.sessionKey,
    isNew: core.sessions.peek(of.sessionKey) === undefined,
    owner: of.subject.hasOwnerRights,
    sandbox: { ...of.confined, contained: isContainedRun({ of, ...run }, judging) },
    withoutModel: isWithoutModel,
    leftOut: of.leftOut,
    exec,
    ...(command !== undefined && {
      command: await judgedCommand({ text: command, explained: found, exec, ...run }, judging),
    }),
    tools: verdicts.map(({ tool: one, isAllowed: allowed, ...more }) => ({ tool: one, allowed, ...more })),
  };
}

const untrustedIn = (key: SessionKey, { core }: Pick<Parts, "core">) =>
  untrustedMarkOf(core.sessions.peek(key)?.untrustedContent)?.sources ?? [];
