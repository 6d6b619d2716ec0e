import { modelName, type ModelRef } from "../../../types/run/model.ts";
import type { Models } from "../../../providers/catalog.ts";
import { commandFormOf, inCommandForm } from "../../chats.ts";
import { mayUse } from "../../candidates.ts";
import type { CommandAnswer, CommandContext } from "../kit/command.ts";

/**
 * Lists the providers, or with a word the models of that provider, or the models whose names contain the word: only
 * models that may be used here.
 */
export async function showModels(context: CommandContext): Promise<CommandAnswer> {
  const { words, page } = wordsAndPage(context.args);
  const models = await usableModels(context);
  if (models.length === 0) return { text: "There is no model that may be used here." };
  const form = commandFormOf(context.ports, context.message.from);
  const advice = inCommandForm("Choose one: /model provider/id.", form);
  const providers = providersOf(models);
  const [only] = providers.length === 1 ? providers : [];
  const asked = words === "" ? only : words;
  const command = inCommandForm(words === "" ? "/models" : `/models ${words}`, form);
  if (asked === undefined) {
    const lines = providers.map((provider) => `• ${provider} (${ofProvider(models, provider).length})`);
    const more = inCommandForm("/models <provider> lists its models.", form);
    return { text: `${pageOf({ title: "Providers", lines, page, command })}\n${more}` };
  }
  const found = matching(models, asked);
  if (found.length === 0)
    return { text: `I know no model of "${asked}". ${inCommandForm("/models lists the providers.", form)}` };
  const lines = found.map(({ name, aliases }) => `• ${name}${aliases.length === 0 ? "" : ` (${aliases.join(", ")})`}`);
  return { text: `${pageOf({ title: `Models of ${asked}`, lines, page, command })}\n${advice}` };
}

interface Listed extends ModelRef {
  readonly name: string;
  readonly aliases: readonly string[];
}

/** The models of the agent of a conversation, with the keys that only this agent uses. */
export function modelsFor({ key, ports }: Pick<CommandContext, "key" | "ports">): Models {
  return ports.runs.models.of(ports.settings().agentOf(key));
}

/** The models that a conversation of this agent may be given, with the aliases of the config. */
export async function usableModels({ key, ports }: Pick<CommandContext, "key" | "ports">): Promise<readonly Listed[]> {
  const settings = ports.settings();
  const agent = settings.agents.get(settings.agentOf(key));
  const aliases = Object.entries(agent?.modelAliases ?? {});
  const models = (await modelsFor({ key, ports }).list()).filter((model) => !agent || mayUse(agent, model));
  return models.map((model) => {
    const name = modelName(model);
    const own = aliases.filter(([, of]) => of === name).map(([alias]) => alias);
    return { provider: model.provider, id: model.id, name, aliases: own };
  });
}

const providersOf = (models: readonly Listed[]): readonly string[] => [
  ...new Set(models.map(({ provider }) => provider)),
];

const ofProvider = (models: readonly Listed[], provider: string): readonly Listed[] =>
  models.filter((model) => model.provider.toLowerCase() === provider.toLowerCase());

/** The models of a provider; where no provider has that name, the models whose names or aliases contain it. */
function matching(models: readonly Listed[], word: string): readonly Listed[] {
  const own = ofProvider(models, word);
  if (own.length > 0) return own;
  const part = word.toLowerCase();
  return models.filter(({ name, aliases }) => [name, ...aliases].some((one) => one.toLowerCase().includes(part)));
}

/** Lines of one page: few enough to be one message in every channel. */
const PAGE = 20;

/** A list in a command's answer, and the page of it that is asked for. */
interface Listing {
  readonly title: string;
  readonly lines: readonly string[];
  /** The number of the page, from 1; a number that is too high means the last page. */
  readonly page: number;
  /** The command for another page, without its number. */
  readonly command: string;
}

/** One page of a list, with the command for the next one. Pure. */
export function pageOf({ title, lines, page, command }: Listing): string {
  const pages = Math.max(1, Math.ceil(lines.length / PAGE));
  const shown = Math.min(Math.max(1, page), pages);
  const part = lines.slice((shown - 1) * PAGE, shown * PAGE);
  if (pages === 1) return [`${title}:`, ...part].join("\n");
  const next = shown < pages ? [`More: ${command} ${shown + 1}`] : [];
  return [`${title}, page ${shown} of ${pages}:`, ...part, ...next].join("\n");
}

/**
 * The words before a number at the end of a command's arguments, and that number, which is 1 when there is none. Pure.
 */
export function wordsAndPage(args: string): { readonly words: string; readonly page: number } {
  const [, words = "", page = "1"] = /^(.*?)\s*(?<!\S)(\d{1,4})$/s.exec(args.trim()) ?? [];
  return words === "" && !/^\d{1,4}$/.test(args.trim())
    ? { words: args.trim(), page: 1 }
    : { words, page: Number(page) };
}
