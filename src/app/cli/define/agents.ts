import type { Command } from "commander";
import type { BindFlags, BindingsFlags, UnbindFlags } from "../commands/agents/bind.ts";
import type { AddFlags } from "../commands/agents/change.ts";
import type { DeleteFlags } from "../commands/agents/delete.ts";
import type { IdentityFlags } from "../commands/agents/identity.ts";
import type { ListFlags } from "../commands/agents/list.ts";
import { listOf, unasked, type Act } from "./act.ts";

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** `agents …`: the agents of the config, and which messages each of them answers. */
export function defineAgents(program: Command, act: Act): void {
  const agents = program.command("agents").description("the agents, and which messages each of them answers");
  agents
    .command("list", { isDefault: true })
    .description("list the agents (the default)")
    .option("--bindings", "also which messages they answer")
    .option("--json", "for scripts")
    .action(act(async (io, flags: ListFlags) => (await import("../commands/agents/list.ts")).agentsList(io, flags)));
  defineChanges(agents, act);
  defineBindings(agents, act);
}

function defineChanges(agents: Command, act: Act): void {
  agents
    .command("add")
    .description("add an agent with a workspace of its own")
    .argument("[name]", "its id is made from it")
    .option("--workspace <dir>", "where it works; workspace-<id> of the state directory unless given")
    .option(
      "--agent-dir <dir>",
      "where the keys are that only it uses; agents/<id>/agent of the state directory unless given",
    )
    .option("--model <model>", "its model, provider/model")
    .option("--bind <channel[:account]>", "messages that it answers; may be given several times", collect)
    .option("--non-interactive", "ask nothing")
    .option("--json", "for scripts")
    .action(
      act(async (io, name: string | undefined, flags: AddFlags) =>
        (await import("../commands/agents/change.ts")).agentsAdd(io, name, flags),
      ),
    );
  unasked(agents.command("delete"))
    .description("remove an agent with its bindings and jobs, and move its workspace and keys to the trash")
    .argument("<id>")
    .option("--keep-files", "leave the workspace and the keys where they are")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string, flags: DeleteFlags) =>
        (await import("../commands/agents/delete.ts")).agentsDelete(io, id, flags),
      ),
    );
  agents
    .command("set-identity")
    .description("set an agent's name, theme, emoji and picture; an empty text removes one")
    .option("--agent <id>", "which agent; the default one unless given")
    .option("--workspace <dir>", "the agent that works there")
    .option("--identity-file <path>", "read them from this file")
    .option("--from-identity", "read them from IDENTITY.md of the workspace")
    .option("--name <name>", "what it calls itself")
    .option("--theme <theme>", "what it is like")
    .option("--emoji <emoji>", "its sign in lists")
    .option("--avatar <picture>", "a file of the workspace, an https address, or a data URI")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: IdentityFlags) =>
        (await import("../commands/agents/identity.ts")).agentsSetIdentity(io, flags),
      ),
    );
}

/** Conditions for messages in addition to channel and account. */
const matchOptions = (command: Command): Command =>
  command
    .option("--peer <kind:id>", "only this chat: direct:42, group:-100")
    .option("--guild <id>", "only this Discord server")
    .option("--team <id>", "only this Slack workspace")
    .option("--role <id>", "only senders with this role", listOf);

const bindOptions = (command: Command): Command =>
  matchOptions(
    command
      .option("--agent <id>", "which agent; the default one unless given")
      .option("--bind <channel[:account]>", "which messages; may be given several times", collect),
  ).option("--json", "for scripts");

function defineBindings(agents: Command, act: Act): void {
  matchOptions(
    agents
      .command("bindings")
      .description("list the bindings, or say which one is chosen for a message and why")
      .option("--agent <id>", "only those of this agent")
      .option("--channel <channel>", "say who answers a message of this channel")
      .option("--account <id>", "account of --channel; the default one unless given")
      .option("--thread <id>", "thread of --peer"),
  )
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: BindingsFlags) => (await import("../commands/agents/bind.ts")).agentsBindings(io, flags)),
    );
  bindOptions(agents.command("bind").description("have an agent answer messages")).action(
    act(async (io, flags: BindFlags) => (await import("../commands/agents/bind.ts")).agentsBind(io, flags)),
  );
  bindOptions(agents.command("unbind").description("remove bindings of an agent"))
    .option("--all", "all of them")
    .action(
      act(async (io, flags: UnbindFlags) => (await import("../commands/agents/bind.ts")).agentsUnbind(io, flags)),
    );
}
