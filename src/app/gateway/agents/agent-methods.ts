import { z } from "zod";
import { seedWorkspace } from "../../../prompt/bootstrap.ts";
import { agentsAnswers, type ContextFileFacts } from "../../../types/answers/agents.ts";
import { OpenClawError, withFix } from "../../../types/errors.ts";
import { asRefusal, defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { defined } from "../../../utils/defined.ts";
import { KeyedQueue } from "../../../utils/keyed-queue.ts";
import { wait } from "../../../utils/pause.ts";
import { addAgent, changeAgent, removeAgent, type AgentKeys } from "../../agents/agent-file.ts";
import { agentIdFrom, workspaceFor, writtenPath } from "../../agents/agent-id.ts";
import { trashAgent } from "../../agents/trash.ts";
import type { LoadOptions } from "../../config/load.ts";
import { hashOnDisk } from "../../config/source.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import type { Parts } from "../parts/parts.ts";
import { agentWorkspaceMethods } from "./agent-workspace-methods.ts";
import { sessionFileMethods } from "./session-files.ts";
import { agentReadMethods, knownAgent } from "./agent-read-methods.ts";
import { memoryMethods } from "./memory-methods.ts";
import {
  OutdatedFile,
  isContextFile,
  listContextFiles,
  readContextFile,
  UnusableFile,
  writeContextFile,
} from "../../agents/context-files.ts";

const text = z.string().min(1).max(4096);
/** Text of an identity key; an empty text removes the key. */
const shown = z.string().max(262_144).optional();

type AgentParts = Pick<Parts, "live" | "core" | "log" | "cron" | "stopping">;

/** The protocol's methods for agents. Changes are written into the config file, whose watcher applies them. */
export function agentMethods(parts: AgentParts): readonly Method[] {
  const edits = new KeyedQueue();
  // Sequential: each edit reads the file before it writes it. An edit resolves once the gateway works with the change.
  const edit = <T>(work: (load: LoadOptions) => Promise<T>): Promise<T> =>
    edits.run("config", () => editAndFollow(parts, work));
  return [
    ...agentReadMethods(parts),
    ...agentFileMethods(parts),
    ...agentWorkspaceMethods(parts),
    ...sessionFileMethods(parts),
    ...memoryMethods(parts),
    createMethod(parts, edit),
    defineMethod({
      name: "agents.update",
      scope: "operator.admin",
      params: z.looseObject({
        agentId: text,
        name: text.optional(),
        workspace: text.optional(),
        model: text.nullable().optional(),
        emoji: shown,
        avatar: shown,
      }),
      result: agentsAnswers.update,
      run: async ({ agentId, ...given }) => {
        knownAgent(parts.live, agentId);
        const { workspace } = given;
        const written = workspace && writtenPath(workspace, parts.live.paths.stateDir);
        await edit((load) => changeAgent(load, agentId, changedKeys({ ...given, workspace: written })));
        parts.log.info("agent changed", { agent: agentId });
        return { ok: true, agentId };
      },
    }),
    deleteMethod(parts, edit),
  ];
}

type Editor = <T>(work: (load: LoadOptions) => Promise<T>) => Promise<T>;

const createMethod = ({ live, log }: AgentParts, edit: Editor): Method =>
  defineMethod({
    name: "agents.create",
    scope: "operator.admin",
    params: z.looseObject({
      name: text,
      workspace: text.optional(),
      model: text.optional(),
      emoji: shown,
      avatar: shown,
    }),
    result: agentsAnswers.create,
    run: async ({ name, model, emoji, avatar, ...given }) => {
      const agentId = idOf(name);
      const workspace = given.workspace ?? workspaceFor(live.paths.stateDir, agentId);
      const identity = defined({ emoji: emoji || undefined, avatar: avatar || undefined });
      await edit((load) =>
        addAgent(load, agentId, {
          name,
          workspace: writtenPath(workspace, live.paths.stateDir),
          ...(model !== undefined && { model }),
          ...(Object.keys(identity).length > 0 && { identity }),
        }),
      );
      const made = live.agents.find(({ id }) => id === agentId)?.workspace ?? workspace;
      await seedWorkspace(made);
      log.info("agent added", { agent: agentId });
      return { ok: true, agentId, name, workspace: made, ...(model !== undefined && { model }) };
    },
  });

/** Deletes an agent with its scheduled jobs: without the agent each of their runs would fail. */
const deleteMethod = ({ live, log, cron }: AgentParts, edit: Editor): Method =>
  defineMethod({
    name: "agents.delete",
    scope: "operator.admin",
    params: z.looseObject({ agentId: text, deleteFiles: z.boolean().default(true) }),
    result: agentsAnswers.delete,
    run: async ({ agentId, deleteFiles }) => {
      const agent = knownAgent(live, agentId);
      const removedBindings = await edit((load) => removeAgent(load, agentId));
      const jobs = cron.desk.list({ agentId, enabled: "all", limit: Number.MAX_SAFE_INTEGER }).jobs;
      for (const { id } of jobs) await cron.desk.remove(id);
      log.info("agent removed", { agent: agentId, bindings: removedBindings, jobs: jobs.length });
      const keep = { stateDir: live.paths.stateDir, others: live.agents, now: Date.now() };
      const trashed = deleteFiles && (await trashAgent(agent, keep));
      return { ok: true, agentId, removedBindings, ...trashed };
    },
  });

interface Changes {
  readonly name?: string | undefined;
  readonly workspace?: string | undefined;
  readonly model?: string | null | undefined;
  readonly emoji?: string | undefined;
  readonly avatar?: string | undefined;
}

/** The keys of an entry that a request changes. A model of null and an empty text remove their keys. */
function changedKeys({ name, workspace, model, emoji, avatar }: Changes): AgentKeys {
  const keys = { name, workspace, model, "identity.emoji": emoji, "identity.avatar": avatar };
  return Object.entries(defined(keys)).map(([key, value]) => [key, value === "" ? undefined : (value ?? undefined)]);
}

function idOf(name: string): string {
  try {
    return agentIdFrom(name);
  } catch (error) {
    throw asRefusal(error);
  }
}

async function editAndFollow<T>(parts: AgentParts, work: (load: LoadOptions) => Promise<T>): Promise<T> {
  const { live } = parts;
  const load = await loadOptionsFor(live.contributions, live.paths);
  try {
    const done = await work(load);
    await untilApplied(parts, load.path);
    return done;
  } catch (error) {
    throw asRefusal(error);
  }
}

/** Milliseconds for which an answer waits beyond the quiet time of the file's watcher. */
const APPLIED_WITHIN_MS = 5000;
const LOOK_EVERY_MS = 20;

/**
 * Waits until the gateway works with the changed file. A gateway that applies changes only at its restart is not waited
 * for.
 */
async function untilApplied({ live, stopping }: AgentParts, path: string): Promise<void> {
  const { mode, debounceMs } = live.started.gateway.reload;
  if (mode === "off" || mode === "restart") return;
  const until = Date.now() + debounceMs + APPLIED_WITHIN_MS;
  const isApplied = async () => live.loaded.hash === (await hashOnDisk({ path }));
  while (!(await isApplied()) && Date.now() < until && !stopping.aborted) await wait(LOOK_EVERY_MS, stopping);
}

const agentId = z.string().min(1).max(200);
const name = z.string().min(1).max(200);

/** The methods for the files of an agent's workspace that go into its system prompt, and for no others. */
function agentFileMethods({ live, log }: Pick<Parts, "live" | "log">): readonly Method[] {
  const writes = new KeyedQueue();
  return [
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
      params: z.looseObject({
        agentId,
        name,
        content: z.string(),
        expectedHash: z
          .string()
          .regex(/^[\da-f]{64}$/i, "the hash that agents.files.get gave")
          .optional(),
      }),
      result: agentsAnswers.fileSet,
      run: async (of) => {
        const { id, workspace } = knownAgent(live, of.agentId);
        // Sequential: a write compares the file with its hash before it replaces it.
        const write = () => writes.run(workspace, () => writeContextFile(workspace, of));
        const file = await usable(of.name, write);
        log.info("file of an agent written", { agent: id, file: of.name });
        return { ok: true, agentId: id, workspace, file };
      },
    }),
  ];
}

async function usable(file: string, work: () => Promise<ContextFileFacts>): Promise<ContextFileFacts> {
  if (!isContextFile(file))
    throw new MethodError("INVALID_REQUEST", `"${file}" is no file of the system prompt: agents.files.list has them`);
  try {
    return await work();
  } catch (error) {
    if (error instanceof OutdatedFile) {
      const details = { type: "agent_file_conflict", name: file, ...defined({ currentHash: error.hash }) };
      throw new MethodError("INVALID_REQUEST", error.message, { details });
    }
    if (error instanceof UnusableFile) throw new MethodError("INVALID_REQUEST", error.message);
    if (error instanceof OpenClawError) throw new MethodError("UNAVAILABLE", withFix(error));
    throw error;
  }
}
