import type { Command } from "commander";
import type { PolicyFlags } from "../commands/policy/policy.ts";
import type { Act } from "./act.ts";

/** The commands about who may use which tool. */
export function definePolicy(program: Command, act: Act): void {
  const policy = program.command("policy").description("who may use which tool, and which key says so");
  policy
    .command("explain", { isDefault: true })
    .argument("[tool]", "a tool; all in short when left out")
    .description("show each step of the policy for a tool, with its key and its place in the file")
    .option("--agent <id>", "agent; the default one when left out")
    .option("--session <key>", "conversation, such as telegram:default:group:-100")
    .option("--sender <id>", "who writes, such as telegram:42; an operator when left out")
    .option("--channel <channel>", "channel of the sender")
    .option("--username <name>", "username of the sender")
    .option("--name <name>", "display name of the sender")
    .option("--model <model>", "model that runs, as provider/model")
    .option("--json", "for scripts")
    .action(
      act(async (io, tool: string | undefined, flags: PolicyFlags) => {
        const { policyExplain } = await import("../commands/policy/policy.ts");
        return policyExplain(io, tool, flags);
      }),
    );
}
