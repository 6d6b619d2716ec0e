import type { Command } from "commander";
import type { ListFlags } from "../commands/models/models.ts";
import type { ScanFlags } from "../commands/models/models-scan.ts";
import type { StatusFlags } from "../commands/models/models-status.ts";
import { wholeNumber, type Act } from "./act.ts";
import { defineModelsAuth } from "./models-auth.ts";

interface Which {
  readonly agent?: string;
}

/** `models …` */
export function defineModels(program: Command, act: Act): void {
  const models = program.command("models").description("language models and their keys");
  models
    .command("list", { isDefault: true })
    .description("list the models that can be used now (the default)")
    .option("--all", "also models without a key")
    .option("--local", "only models on this machine")
    .option("--provider <id>", "only this provider's")
    .option("--json", "for scripts")
    .option("--plain", "names only")
    .action(
      act(async (io, options: ListFlags) => (await import("../commands/models/models.ts")).modelsList(io, options)),
    );
  defineStatus(models, act);
  models
    .command("set")
    .argument("<model>", "provider/model")
    .description("the model that is asked first")
    .option("--agent <id>", "only for this agent")
    .action(
      act(async (io, model: string, options: Which) => {
        const { modelsSet } = await import("../commands/models/models-set.ts");
        return modelsSet(io, model, options);
      }),
    );
  defineFallbacks(models, act);
  models
    .command("scan")
    .description("ask servers for their models: those of the config, on this machine, OpenRouter")
    .option("--provider <id>", "only this one")
    .option("--free", "only models that are free by the server's prices")
    .option("--timeout <ms>", "how long to wait for a server", wholeNumber(1), 5000)
    .option("--json", "for scripts")
    .action(
      act(async (io, options: ScanFlags) =>
        (await import("../commands/models/models-scan.ts")).modelsScan(io, options),
      ),
    );
  defineModelsAuth(models, act);
}

function defineStatus(models: Command, act: Act): void {
  models
    .command("status")
    .description("show the model in use, its keys and their state")
    .option("--json", "for scripts")
    .option("--plain", "print only the model")
    .option("--check", "exit with 1 if a key is missing or expired")
    .option("--probe", "ask each key for a few tokens")
    .option("--probe-provider <name>", "with --probe: only this provider's")
    .option("--probe-profile <id>", "with --probe: only this key")
    .option("--probe-timeout <ms>", "how long to wait for an answer", wholeNumber(1), 15_000)
    .option("--probe-concurrency <n>", "calls at the same time", wholeNumber(1, 32), 2)
    .option("--probe-max-tokens <n>", "most tokens of an answer", wholeNumber(1), 16)
    .option("--agent <id>", "for this agent")
    .action(
      act(async (io, options: StatusFlags) =>
        (await import("../commands/models/models-status.ts")).modelsStatus(io, options),
      ),
    );
}

function defineFallbacks(models: Command, act: Act): void {
  const fallbacks = models.command("fallbacks").description("models that are asked when the first model fails");
  fallbacks
    .command("list", { isDefault: true })
    .description("list the fallbacks in their order (the default)")
    .option("--agent <id>", "for this agent")
    .option("--json", "for scripts")
    .option("--plain", "names only")
    .action(
      act(async (io, options: Which & { json?: boolean; plain?: boolean }) => {
        const { fallbacksList } = await import("../commands/models/models-set.ts");
        return fallbacksList(io, options);
      }),
    );
  fallbacks
    .command("add")
    .argument("<model>", "provider/model")
    .description("add a fallback at the end")
    .option("--agent <id>", "only for this agent")
    .action(
      act(async (io, model: string, options: Which) => {
        const { fallbacksAdd } = await import("../commands/models/models-set.ts");
        return fallbacksAdd(io, model, options);
      }),
    );
  fallbacks
    .command("remove")
    .argument("<model>", "provider/model")
    .description("one less")
    .option("--agent <id>", "only for this agent")
    .action(
      act(async (io, model: string, options: Which) => {
        const { fallbacksRemove } = await import("../commands/models/models-set.ts");
        return fallbacksRemove(io, model, options);
      }),
    );
  fallbacks
    .command("clear")
    .description("remove all fallbacks")
    .option("--agent <id>", "only for this agent")
    .action(
      act(async (io, options: Which) => {
        const { fallbacksClear } = await import("../commands/models/models-set.ts");
        return fallbacksClear(io, options);
      }),
    );
}
