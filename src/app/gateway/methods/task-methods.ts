import { z } from "zod";
import { keyParam } from "../../../types/key-field.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { ofAgent } from "../../../types/run/agent-filter.ts";
import { TASK_STATUSES } from "../../../types/subagent/task-status.ts";
import { taskAnswers } from "../../../types/subagent/task.ts";
import type { Parts } from "../parts/parts.ts";

const status = z.enum(TASK_STATUSES);
const one = z.looseObject({ taskId: z.string().min(1).max(200) });

/** The protocol's methods for detached work. */
export const taskMethods = ({ live, tasks }: Pick<Parts, "live" | "tasks">): readonly Method[] => [
  defineMethod({
    name: "tasks.list",
    scope: "operator.read",
    params: z.looseObject({
      status: z.union([status, z.array(status)]).optional(),
      agentId: z.string().min(1).optional(),
      sessionKey: keyParam().optional(),
      limit: z.int().min(1).max(500).default(100),
      cursor: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional(),
    }),
    result: taskAnswers.list,
    run: async ({ status: wanted, agentId, sessionKey, limit, cursor }) => {
      return tasks.list({
        limit,
        cursor,
        statuses: typeof wanted === "string" ? [wanted] : wanted,
        sessionKey,
        ...ofAgent(agentId, live.defaultAgent.id),
      });
    },
  }),
  defineMethod({
    name: "tasks.get",
    scope: "operator.read",
    params: one,
    result: taskAnswers.get,
    run: async ({ taskId }) => {
      const task = await tasks.get(taskId);
      if (!task) throw new MethodError("NOT_FOUND", `there is no task ${taskId}`);
      return { task };
    },
  }),
  defineMethod({
    name: "tasks.cancel",
    scope: "operator.write",
    params: one,
    result: taskAnswers.cancel,
    run: ({ taskId }) => tasks.cancel(taskId),
  }),
];
