import type { Command } from "commander";
import type { IndexFlags, MemoryFlags, SearchFlags } from "../commands/memory/memory.ts";
import { wholeNumber, type Act } from "./act.ts";

const AGENT = ["--agent <id>", "this agent instead of the default one"] as const;
const JSON_FLAG = ["--json", "for scripts"] as const;

/** `memory …` */
export function defineMemory(program: Command, act: Act): void {
  const memory = program.command("memory").description("the notes of agents and their index");
  memory
    .command("status")
    .description("show the index of an agent's notes")
    .option(...AGENT)
    .option(...JSON_FLAG)
    .action(
      act(async (io, flags: MemoryFlags) => (await import("../commands/memory/memory.ts")).memoryStatus(io, flags)),
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
    .option("--max-results <n>", "at most so many results", wholeNumber(1))
    .option(...JSON_FLAG)
    .action(
      act(async (io, query: string, flags: SearchFlags) =>
        (await import("../commands/memory/memory.ts")).memorySearch(io, query, flags),
      ),
    );
}
