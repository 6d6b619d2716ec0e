import { Option, type Command } from "commander";
import type { DoctorFlags } from "../commands/gateway/doctor.ts";
import type { LogFlags } from "../commands/logs/logs.ts";
import type { GatewayStatusFlags } from "../commands/gateway/status.ts";
import { listOf, wholeNumber, unasked, type Act } from "./act.ts";
import type { RowFlags } from "../commands/approvals/allowlist.ts";
import type { GetFlags, SetFlags } from "../commands/approvals/document.ts";
import type { PolicyFlags } from "../commands/policy/policy.ts";
import type { IndexFlags, SearchFlags, MemoryStatusFlags } from "../commands/memory/memory.ts";
import type { MemoryFlags } from "../commands/memory/open.ts";
import type { ForgetFlags } from "../commands/memory/origin.ts";

/** The commands that show the gateway's state: status, health, doctor, logs, dashboard, policy, approvals, memory. */
export function defineDiagnostics(program: Command, act: Act): void {
  definePolicy(program, act);
  defineMemory(program, act);
  program
    .command("status")
    .description("show the gateway, its config, model, channels and sessions")
    .option("--json", "for scripts")
    .option("--all", "also recent sessions, and what grows")
    .option("--deep", "also ask every channel")
    .option("--usage", "also what is left of the providers' limits")
    .option("--timeout <ms>", "how long to wait for the gateway", wholeNumber(1))
    .option("--verbose", "show where an error came from")
    .action(
      act(async (io, options: GatewayStatusFlags) =>
        (await import("../commands/gateway/status.ts")).status(io, options),
      ),
    );
  program
    .command("health")
    .description("ask the running gateway how it is")
    .option("--json", "for scripts")
    .option("--timeout <ms>", "how long to wait for the gateway", wholeNumber(1))
    .option("--verbose", "show where an error came from")
    .action(
      act(async (io, options: { json?: boolean; timeout?: number }) => {
        const { health } = await import("../commands/gateway/health.ts");
        return health(io, options);
      }),
    );
  defineDoctor(program, act);
  defineLogs(program, act);
  program
    .command("dashboard")
    .description("print the chat page's address, and open it on a desktop")
    .option("--no-open", "only print the address")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: { open: boolean; json?: boolean }) => {
        const { dashboard } = await import("../commands/gateway/dashboard.ts");
        return dashboard(io, options);
      }),
    );
}

function defineDoctor(program: Command, act: Act): void {
  program
    .command("doctor")
    .description("find problems, say how to mend them, and repair them with --fix")
    .option("--json", "for scripts")
    .option("--fix", "mend what can be mended; each change is shown and asked first")
    .addOption(new Option("--repair", "same as --fix").hideHelp())
    .option("--yes", "with --fix: do not ask")
    .option("--non-interactive", "never ask")
    .option("--only <id>", "only these checks: `app.config`, or a module such as `store`", listOf)
    .option("--skip <id>", "skip these checks", listOf)
    .action(
      act(async (io, options: DoctorFlags) => (await import("../commands/gateway/doctor.ts")).doctor(io, options)),
    );
}

function defineLogs(program: Command, act: Act): void {
  program
    .command("logs")
    .description("show the gateway's log")
    .option("-f, --follow", "keep printing new lines")
    .option("--json", "the lines as they are in the file")
    .option("-n, --limit <count>", "number of lines from the end", wholeNumber(0, 1_000_000), 200)
    .option("--interval <ms>", "with --follow: how often to look", wholeNumber(20, 60_000), 500)
    .option("--plain", "no colours")
    .addOption(new Option("--local-time", "no effect: times are local").hideHelp())
    .action(act(async (io, options: LogFlags) => (await import("../commands/logs/logs.ts")).logs(io, options)));
}

/** `policy …`, about who may use which tool, and `approvals …`. */
function definePolicy(program: Command, act: Act): void {
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
    .option("--command <text>", "a command of the tool exec: whether it would run, be asked about or be refused")
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

const AGENT = ["--agent <id>", "this agent instead of the default one"] as const;
const JSON_FLAG = ["--json", "for scripts"] as const;

/** `memory …` */
function defineMemory(program: Command, act: Act): void {
  const memory = program.command("memory").description("the notes of agents and their index");
  memory
    .command("status")
    .description("show the index of an agent's notes")
    .option(...AGENT)
    .option("--deep", "also ask the endpoint for a vector")
    .option("--index", "first take changed notes into the index")
    .option(...JSON_FLAG)
    .action(
      act(async (io, flags: MemoryStatusFlags) =>
        (await import("../commands/memory/memory.ts")).memoryStatus(io, flags),
      ),
    );
  memory
    .command("index")
    .description("take changed notes into the index")
    .option(...AGENT)
    .option("--force", "make the whole index again")
    .option(...JSON_FLAG)
    .action(
      act(async (io, flags: IndexFlags) => (await import("../commands/memory/memory.ts")).memoryIndex(io, flags)),
    );
  memory
    .command("search <query>")
    .description("search the notes as an agent does")
    .option(...AGENT)
    .option("--limit <count>", "most results to show", wholeNumber(1))
    .addOption(new Option("--max-results <n>", "the same").argParser(wholeNumber(1)).hideHelp())
    .option(...JSON_FLAG)
    .action(
      act(async (io, query: string, flags: SearchFlags) =>
        (await import("../commands/memory/memory.ts")).memorySearch(io, query, flags),
      ),
    );
  defineOrigins(memory, act);
}

function defineOrigins(memory: Command, act: Act): void {
  memory
    .command("why <line>")
    .description("show which conversation wrote a line of a note, such as MEMORY.md:12")
    .option(...AGENT)
    .option(...JSON_FLAG)
    .action(
      act(async (io, line: string, flags: MemoryFlags) =>
        (await import("../commands/memory/origin.ts")).memoryWhy(io, line, flags),
      ),
    );
  unasked(memory.command("forget <lines>"))
    .description("remove lines from a note, such as MEMORY.md:12-14")
    .option(...AGENT)
    .option(...JSON_FLAG)
    .action(
      act(async (io, lines: string, flags: ForgetFlags) =>
        (await import("../commands/memory/origin.ts")).memoryForget(io, lines, flags),
      ),
    );
}
