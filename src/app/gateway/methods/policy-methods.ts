import { z } from "zod";
import { keyParam } from "../../../types/key-field.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import { explainPolicy, policyAnswer } from "../../compose/policy/explain.ts";
import type { Parts } from "../parts/parts.ts";
import { answered } from "./run-methods.ts";

const text = z.string().min(1).max(512).optional();

/** The method that explains who may use which tool, for clients. */
export const policyMethods = ({ core, live }: Parts): readonly Method[] => [
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
    }),
    result: policyAnswer,
    run: async ({ agentId: agent, sessionKey: session, sender, channel, username, name, model, tool }) => {
      const ask = { agent, session, sender, channel, username, name, model, tool };
      const { of, verdicts, isWithoutModel } = await answered(explainPolicy(live, core.sandboxes.machine, ask));
      return {
        agentId: of.agent.id,
        sessionKey: of.sessionKey,
        sandbox: of.confined,
        withoutModel: isWithoutModel,
        leftOut: of.leftOut,
        tools: verdicts.map(({ tool: named, isAllowed, trace }) => ({ tool: named, allowed: isAllowed, trace })),
      };
    },
  }),
];
