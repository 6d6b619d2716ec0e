import type { Command } from "commander";
import type { RowFlags } from "../commands/approvals/allowlist.ts";
import type { GetFlags, SetFlags } from "../commands/approvals/document.ts";
import type { PolicyFlags } from "../commands/policy/policy.ts";
import type { Act } from "./act.ts";

/** `policy …`, about who may use which tool, and `approvals …`. */
export function definePolicy(program: Command, act: Act): void {
  defineApprovals(program, act);
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

/** `approvals …`: which commands agents may run without an approval. */
function defineApprovals(program: Command, act: Act): void {
  const approvals = program.command("approvals").description("which commands agents may run, in exec-approvals.json");
  approvals
    .command("get")
    .description("show the limits and the rows of the file")
    .option("--agent <id>", "only what counts for this agent")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: GetFlags) => (await import("../commands/approvals/document.ts")).approvalsGet(io, flags)),
    );
  approvals
    .command("set")
    .description("replace the document; socket stays as it is")
    .option("--file <path>", "the new document")
    .option("--stdin", "read the new document from standard input")
    .option("--base-hash <hash>", "only if the file still has this hash of `approvals get --json`")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: SetFlags) => (await import("../commands/approvals/document.ts")).approvalsSet(io, flags)),
    );
  const allowlist = approvals.command("allowlist").description("programs that need no approval");
  allowlist
    .command("add")
    .argument("<pattern>", "a glob on the path of the program, or its bare name")
    .description("add a row")
    .option("--arg-pattern <regex>", "a regular expression for the arguments")
    .option("--agent <id>", "agent; the default one when left out, * for all")
    .option("--json", "for scripts")
    .action(
      act(async (io, pattern: string, flags: RowFlags) =>
        (await import("../commands/approvals/allowlist.ts")).allowlistAdd(io, pattern, flags),
      ),
    );
  allowlist
    .command("remove")
    .argument("<pattern>", "the pattern or the id of the row")
    .description("remove rows, and so take approvals back")
    .option("--agent <id>", "agent; the default one when left out, * for the list of all")
    .option("--json", "for scripts")
    .action(
      act(async (io, named: string, flags: Omit<RowFlags, "argPattern">) =>
        (await import("../commands/approvals/allowlist.ts")).allowlistRemove(io, named, flags),
      ),
    );
}
