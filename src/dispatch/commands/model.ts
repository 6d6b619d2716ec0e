import { modelName, type ModelRef, parseModelName } from "../../types/run/model.ts";
import type { Session, SessionPatch } from "../../types/session.ts";
import { commandFormOf, inCommandForm } from "../chats.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";
import { modelsFor, usableModels } from "./reports/models.ts";
import { own } from "../../utils/own.ts";
import { mayUse } from "../candidates.ts";

const MOST_LISTED = 20;

/** Shows, lists or chooses the model of this session. */
export async function switchModel(context: CommandContext, session: Session): Promise<CommandAnswer> {
  const word = context.args.trim();
  if (word === "" || word === "status") return { text: await currentText(context, session) };
  if (word === "list") return { text: await listText(context) };
  if (word === "default") {
    await session.update({ modelOverride: undefined, providerOverride: undefined, ...NO_PIN }, { now: true });
    return { text: "The model is now the configured one again." };
  }
  const { name, profile, unknownKey } = await readWord(word, context);
  if (unknownKey !== undefined)
    return { text: `I do not know the key ${unknownKey}. \`openclaw models status\` lists the keys.` };
  const advice = inCommandForm("Use /model list, or provider/id.", commandFormOf(context.ports, context.message.from));
  const ref = await modelNamed(name, context, advice);
  if (typeof ref === "string") return { text: ref };
  const refused = whyNot(ref, context);
  if (refused !== undefined) return { text: refused };
  const pin = profile === undefined ? NO_PIN : pinned(profile);
  await session.update({ providerOverride: ref.provider, modelOverride: ref.id, ...pin }, { now: true });
  const withKey = profile === undefined ? "" : `, with the key ${profile} only`;
  return { text: `The model of this conversation is now ${ref.provider}/${ref.id}${withKey}.` };
}

function whyNot(ref: ModelRef, { key, ports }: Pick<CommandContext, "key" | "ports">): string | undefined {
  const settings = ports.settings();
  const agent = settings.agents.get(settings.agentOf(key));
  return agent && !mayUse(agent, ref) ? `${modelName(ref)} may not be used here.` : undefined;
}

/**
 * The changes of a session's row that `/model <word>` makes, for a tool of an agent; the word names no key. Returns a
 * sentence about why when the model cannot be used.
 */
export async function modelChange(
  word: string,
  context: Pick<CommandContext, "key" | "ports">,
): Promise<SessionPatch | string> {
  if (word === "default") return { modelOverride: undefined, providerOverride: undefined, ...NO_PIN };
  const ref = await modelNamed(word, context, "Name it as provider/id.");
  if (typeof ref === "string") return ref;
  return whyNot(ref, context) ?? { providerOverride: ref.provider, modelOverride: ref.id, ...NO_PIN };
}

const NO_PIN = { authProfileOverride: undefined, authProfileOverrideSource: undefined };
const pinned = (profile: string) => ({ authProfileOverride: profile, authProfileOverrideSource: "user" as const });

interface Wish {
  readonly name: string;
  readonly profile?: string;
  /** A word that looks like a key of the provider, but is none. */
  readonly unknownKey?: string;
}

/**
 * Reads the word after `/model`. `provider/id@profile` pins a key; an `@` before a word that does not look like a key
 * belongs to the id.
 */
async function readWord(word: string, context: CommandContext): Promise<Wish> {
  const at = word.lastIndexOf("@");
  const slash = word.indexOf("/");
  if (at < 1 || slash < 1) return { name: word };
  const name = word.slice(0, at);
  const wanted = word.slice(at + 1);
  const ref = { provider: word.slice(0, slash), id: name.slice(slash + 1) };
  const profiles = await modelsFor(context).profiles(ref);
  const found = profiles.find(({ profile: { id } }) => id === wanted || id === `${ref.provider}:${wanted}`);
  if (found) return { name, profile: found.profile.id };
  return { name: word, ...(wanted.startsWith(`${ref.provider}:`) && { unknownKey: wanted }) };
}

/**
 * The model that is given as an alias of the config, as `provider/id`, or as an id that only one provider has; else a
 * sentence about why there is none.
 */
async function modelNamed(
  given: string,
  context: Pick<CommandContext, "key" | "ports">,
  advice: string,
): Promise<ModelRef | string> {
  const settings = context.ports.settings();
  const aliases = settings.agents.get(settings.agentOf(context.key))?.modelAliases ?? {};
  const word = own(aliases, given) ?? given;
  const ref = parseModelName(word);
  if (ref) {
    const found = await modelsFor(context).find(ref);
    return "missing" in found ? `I cannot use ${word}: ${found.missing}` : ref;
  }
  const matches = (await modelsFor(context).list()).filter((model) => model.id === word);
  const [first] = matches;
  if (matches.length === 1 && first) return { provider: first.provider, id: first.id };
  return `I do not know a model "${word}". ${advice}`;
}

async function currentText(context: CommandContext, session: Session): Promise<string> {
  const { providerOverride, modelOverride } = session.entry;
  if (providerOverride !== undefined && modelOverride !== undefined) {
    const back = inCommandForm("/model default", commandFormOf(context.ports, context.message.from));
    return `Model: ${providerOverride}/${modelOverride} (chosen here; ${back} goes back).`;
  }
  const settings = context.ports.settings();
  const primary =
    settings.agents.get(settings.agentOf(context.key))?.model.primary ?? (await modelsFor(context).choose());
  return `Model: ${primary.provider}/${primary.id} (as configured).`;
}

async function listText(context: CommandContext): Promise<string> {
  const models = await usableModels(context);
  const lines = models.slice(0, MOST_LISTED).map(({ name }) => `• ${name}`);
  const more = models.length - lines.length;
  const rest = inCommandForm("/models lists all of them.", commandFormOf(context.ports, context.message.from));
  return [...lines, ...(more > 0 ? [`… and ${more} more. ${rest}`] : [])].join("\n");
}
