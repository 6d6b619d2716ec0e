import { z } from "zod";
import { agentsAnswers, type ContextFileFacts } from "../../../types/answers/agents.ts";
import { OpenClawError, withFix } from "../../../types/errors.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import {
  isContextFile,
  listContextFiles,
  readContextFile,
  UnusableFile,
  writeContextFile,
} from "../../agents/context-files.ts";
import type { Parts } from "../parts/parts.ts";
import { knownAgent } from "./agent-read-methods.ts";

const agentId = z.string().min(1).max(200);
const name = z.string().min(1).max(200);

/** The methods for the files of an agent's workspace that go into its system prompt, and for no others. */
export const agentFileMethods = ({ live, log }: Pick<Parts, "live" | "log">): readonly Method[] => [
  defineMethod({
    name: "agents.files.list",
    scope: "operator.read",
    params: z.looseObject({ agentId }),
    result: agentsAnswers.files,
    run: async (of) => {
      const { id, workspace } = knownAgent(live, of.agentId);
      return { agentId: id, workspace, files: await listContextFiles(workspace) };
    },
  }),
  defineMethod({
    name: "agents.files.get",
    scope: "operator.read",
    params: z.looseObject({ agentId, name }),
    result: agentsAnswers.file,
    run: async (of) => {
      const { id, workspace } = knownAgent(live, of.agentId);
      return { agentId: id, workspace, file: await usable(of.name, () => readContextFile(workspace, of.name)) };
    },
  }),
  defineMethod({
    name: "agents.files.set",
    scope: "operator.admin",
    params: z.looseObject({ agentId, name, content: z.string() }),
    result: agentsAnswers.fileSet,
    run: async (of) => {
      const { id, workspace } = knownAgent(live, of.agentId);
      const file = await usable(of.name, () => writeContextFile(workspace, of.name, of.content));
      log.info("file of an agent written", { agent: id, file: of.name });
      return { ok: true, agentId: id, workspace, file };
    },
  }),
];

async function usable(file: string, work: () => Promise<ContextFileFacts>): Promise<ContextFileFacts> {
  if (!isContextFile(file))
    throw new MethodError("INVALID_REQUEST", `"${file}" is no file of the system prompt: agents.files.list has them`);
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnusableFile) throw new MethodError("INVALID_REQUEST", error.message);
    if (error instanceof OpenClawError) throw new MethodError("UNAVAILABLE", withFix(error));
    throw error;
  }
}
