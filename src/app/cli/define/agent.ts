import { Option, type Command } from "commander";
import { THINK_LEVELS } from "../../../types/run/model.ts";
import type { AgentFlags } from "../commands/agent/agent-flags.ts";
import { wholeNumber, type Act } from "./act.ts";
import { defineAgents } from "./agents.ts";
import { defineMcp } from "./mcp.ts";
import { defineSandbox } from "./sandbox.ts";

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
