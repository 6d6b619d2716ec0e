import { Option, type Command } from "commander";
import type { StateExportFlags } from "../commands/export.ts";
import type { ImportFlags } from "../commands/import.ts";
import type { Act } from "./act.ts";

interface Json {
  readonly json?: boolean;
}

/** `config …`, which edits the config file. */
export function defineConfig(program: Command, act: Act): void {
  const config = program.command("config").description("read and change openclaw.json");
  config
    .command("get")
    .argument("<key>", "gateway.port, agents.list[0].id")
    .description("the value in force; secrets are not shown")
    .option("--json", "for scripts")
    .action(
      act(async (io, key: string, options: Json) => {
        const { configGet } = await import("../commands/config/config.ts");
        return configGet(io, key, options);
      }),
    );
  config
    .command("set")
    .argument("<key>", "gateway.port, agents.list[0].id")
    .argument("<value>", "JSON5, or plain text")
    .description("change one value; comments and order stay")
    .addOption(new Option("--json", "refuse a value that is not JSON5"))
    .addOption(new Option("--strict-json", "same as --json").hideHelp())
    .action(
      act(async (io, key: string, value: string, options: Json & { strictJson?: boolean }) => {
        const { configSet } = await import("../commands/config/config.ts");
        return configSet(io, { key, value }, options.json === true || options.strictJson === true);
      }),
    );
  config
    .command("unset")
    .argument("<key>", "gateway.port, agents.list[0].id")
    .description("remove one key from the file")
    .action(act(async (io, key: string) => (await import("../commands/config/config.ts")).configUnset(io, key)));
  defineConfigLooks(config, act);
}

/** `import`, which takes over the state of OpenClaw. */
export function defineImport(program: Command, act: Act): void {
  program
    .command("import")
    .argument("[dir]", "state directory of OpenClaw; default: ~/.openclaw or ~/.clawdbot")
    .description("take over the conversations, settings and people of an OpenClaw; its files stay as they are")
    .option("--dry-run", "show what would be taken and what stays behind, and write nothing")
    .option("--json", "for scripts")
    .action(
      act(async (io, dir: string | undefined, flags: ImportFlags) =>
        (await import("../commands/import.ts")).importCommand(io, dir, flags),
      ),
    );
}

/** `export`, the way back to OpenClaw. */
export function defineExport(program: Command, act: Act): void {
  program
    .command("export")
    .description(
      "make a state directory that OpenClaw 2026.5.20 opens, with the conversations, jobs and people of this one",
    )
    .requiredOption("--to <dir>", "the directory to make; it must be empty or not there")
    .option("--with-keys", "stored keys of models too; logins stay here")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: StateExportFlags) => (await import("../commands/export.ts")).exportCommand(io, flags)),
    );
}

function defineConfigLooks(config: Command, act: Act): void {
  config
    .command("validate")
    .description("check the file without starting anything")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: Json) =>
        (await import("../commands/config/config-validate.ts")).configValidate(io, options),
      ),
    );
  config
    .command("schema")
    .description("JSON Schema of the file")
    .addOption(new Option("--json", "it is JSON in any case").hideHelp())
    .action(act(async (io) => (await import("../commands/config/config-schema.ts")).printConfigSchema(io)));
  config
    .command("file")
    .description("print the path of the file")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: Json) => (await import("../commands/config/config-schema.ts")).configFile(io, options)),
    );
}
