import { Option, type Command } from "commander";
import { THINK_LEVELS } from "../../../types/run/model.ts";
import type { AgentFlags } from "../commands/agent/agent-flags.ts";
import { wholeNumber, type Act, listOf, unasked } from "./act.ts";
import type { BindFlags, BindingsFlags, UnbindFlags } from "../commands/agents/bind.ts";
import type { AgentAddFlags } from "../commands/agents/change.ts";
import type { DeleteFlags } from "../commands/agents/delete.ts";
import type { IdentityFlags } from "../commands/agents/identity.ts";
import type { AgentListFlags } from "../commands/agents/list.ts";
import type { McpLoginFlags } from "../commands/mcp/mcp-login.ts";
import type { ServeFlags } from "../commands/mcp/mcp-serve.ts";
import type { ExplainFlags, RecreateFlags } from "../commands/sandbox/sandbox.ts";

/** `agent`, `agents …`, `sandbox …`, which says where an agent's tools work, and `mcp …`, which shows the tools of other programs. */
export function defineAgent(program: Command, act: Act): void {
  program
    .command("agent")
    .description("send the agent a message and print its answer")
    .requiredOption("-m, --message <text>", "what to say; - reads it from standard input")
    .option("--session-key <key>", "conversation, as `openclaw sessions` names it")
    .option("--session-id <id>", "conversation by its id")
    .option("-t, --to <peer>", "conversation with this person of --channel")
    .option("--channel <channel>", "channel of --to")
    .option("--agent <id>", "which agent")
    .option("--model <model>", "model for this message, provider/id")
    .addOption(new Option("--thinking <level>", "how much the model thinks").choices(THINK_LEVELS))
    .option("--timeout <seconds>", "most seconds of the run", wholeNumber(0, 604_800))
    .option("--json", "for scripts")
    .option("--local", "run in this process, without the gateway")
    .option("--deliver", "also send the answer to the conversation's channel")
    .option("--url <url>", "another gateway, ws:// or wss://")
    .option("--token <token>", "token of that gateway")
    .option("--verbose [level]", "report tools while they run")
    .action(act(async (io, options: AgentFlags) => (await import("../commands/agent/agent.ts")).agent(io, options)));
  defineAgents(program, act);
  defineSandbox(program, act);
  defineMcp(program, act);
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** `agents …`: the agents of the config, and which messages each of them answers. */
function defineAgents(program: Command, act: Act): void {
  const agents = program.command("agents").description("the agents, and which messages each of them answers");
  agents
    .command("list", { isDefault: true })
    .description("list the agents (the default)")
    .option("--bindings", "also which messages they answer")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: AgentListFlags) => (await import("../commands/agents/list.ts")).agentsList(io, flags)),
    );
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
      act(async (io, name: string | undefined, flags: AgentAddFlags) =>
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

/** `mcp …` */
function defineMcp(program: Command, act: Act): void {
  const mcp = program.command("mcp").description("servers of the Model Context Protocol, and this gateway as one");
  mcp
    .command("list", { isDefault: true })
    .description("list the servers of the config with the tools that they had last (the default)")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: { json?: boolean }) =>
        (await import("../commands/mcp/mcp-list.ts")).mcpList(io, options),
      ),
    );
  mcp
    .command("probe")
    .argument("[name]", "server; all unless given")
    .description("start servers, show their tools, and stop them again")
    .option("--json", "for scripts")
    .action(
      act(async (io, name: string | undefined, options: { json?: boolean }) =>
        (await import("../commands/mcp/mcp-probe.ts")).mcpProbe(io, name, options),
      ),
    );
  mcp
    .command("login")
    .argument("<name>", "server of the config that has an address")
    .description("log in at a server that wants a login (OAuth), in the browser")
    .option("--scope <scope>", "what to ask for, in the server's own words")
    .option("--port <port>", "port of this machine at which the browser comes back; any free one unless given")
    .action(
      act(async (io, name: string, options: McpLoginFlags) =>
        (await import("../commands/mcp/mcp-login.ts")).mcpLogin(io, name, options),
      ),
    );
  mcp
    .command("logout")
    .argument("<name>", "server of the config")
    .description("forget the login at a server")
    .action(act(async (io, name: string) => (await import("../commands/mcp/mcp-login.ts")).mcpLogout(io, name)));
  mcp
    .command("serve")
    .description("offer the gateway's sessions and agents to an MCP client over standard input and output")
    .option("--url <url>", "another gateway, ws:// or wss://")
    .option("--token <token>", "token of that gateway")
    .action(
      act(async (io, options: ServeFlags) => (await import("../commands/mcp/mcp-serve.ts")).mcpServe(io, options)),
    );
}

/** `sandbox …` */
function defineSandbox(program: Command, act: Act): void {
  const sandbox = program.command("sandbox").description("where agents' commands and file tools work");
  sandbox
    .command("explain")
    .description("say whether a session is in a sandbox, what it sees, and which keys decide")
    .option("--agent <id>", "this agent instead of the default one")
    .option("--session <key>", "this session instead of the operator's own")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: ExplainFlags) =>
        (await import("../commands/sandbox/sandbox.ts")).sandboxExplain(io, options),
      ),
    );
  sandbox
    .command("list")
    .description("list the folders that sandboxes have of their own")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: { json?: boolean }) =>
        (await import("../commands/sandbox/sandbox.ts")).sandboxList(io, options),
      ),
    );
  unasked(sandbox.command("recreate"))
    .description("remove folders of sandboxes; the next command begins with an empty one")
    .option("--all", "every folder")
    .option("--agent <id>", "those of this agent")
    .option("--session <key>", "that of this session")
    .action(
      act(async (io, options: RecreateFlags) =>
        (await import("../commands/sandbox/sandbox.ts")).sandboxRecreate(io, options),
      ),
    );
}
