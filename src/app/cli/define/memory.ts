import { Option, type Command } from "commander";
import type { IndexFlags, SearchFlags, MemoryStatusFlags } from "../commands/memory/memory.ts";
import type { MemoryFlags } from "../commands/memory/open.ts";
import type { ForgetFlags } from "../commands/memory/origin.ts";
import { unasked, wholeNumber, type Act } from "./act.ts";

const AGENT = ["--agent <id>", "this agent instead of the default one"] as const;
const JSON_FLAG = ["--json", "for scripts"] as const;

/** `memory …` */
export function defineMemory(program: Command, act: Act): void {
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
