import { createHash } from "node:crypto";
import type { APIApplication } from "discord-api-types/v10";
import { backoff, wait } from "openclaw/plugin-sdk";
import type { Api } from "./api.ts";
import { outcomeOf, reasonOf } from "./failures.ts";
import { ARGUMENTS, GUILD_INSTALL, IN_BOT_DM, IN_GUILD } from "./inbound/interactions.ts";
import type { Bot } from "./bot.ts";

/** docs.discord.com/developers/interactions/application-commands */
const MOST_COMMANDS = 100;
const DESCRIPTION_UNITS = 100;
const NAME = /^[-_\p{Ll}\p{Lo}\p{N}]{1,32}$/u;
const TRIES = 10;
const NOTE = "menu";

/** Puts the gateway's commands into Discord's menu when they changed. Never rejects. */
export async function putMenu(bot: Bot): Promise<void> {
  const { host, signal } = bot;
  const body = menuOf(bot);
  if (body.length === 0) return;
  for (let failures = 0; failures < TRIES && !signal.aborted; failures++) {
    try {
      await put(body, bot);
      return;
    } catch (error) {
      if (signal.aborted) return;
      const outcome = outcomeOf(error);
      host.log.warn("Discord's command menu was not changed", { reason: reasonOf(error) });
      if (outcome.kind === "refused") return;
      await wait((outcome.kind === "retry" ? outcome.afterMs : undefined) ?? backoff(failures), signal);
    }
  }
}

type Entry = Readonly<Record<string, unknown>>;

/** Empty when the menu must stay as it is. */
function menuOf({ host, config }: Bot): readonly Entry[] {
  if (config.commands.native === false) return [];
  const left = host.commands.filter(({ name }) => !NAME.test(name)).map(({ name }) => name);
  if (left.length > 0) host.log.info("commands left out of Discord's menu: it does not allow their names", { left });
  return host.commands
    .filter(({ name }) => NAME.test(name))
    .slice(0, MOST_COMMANDS)
    .map(({ name, description }) => ({
      name,
      type: 1,
      description: description.slice(0, DESCRIPTION_UNITS) || name,
      // Discord's default offers commands in every chat of people who have added the app to their account.
      contexts: [IN_GUILD, IN_BOT_DM],
      integration_types: [GUILD_INSTALL],
      options: [{ type: 3, name: ARGUMENTS, description: "What follows the command.", required: false }],
    }));
}

async function put(body: readonly Entry[], { api, config, host }: Bot): Promise<void> {
  const application = config.applicationId ?? (await askApplication(api)).id;
  const print = createHash("sha256")
    .update(JSON.stringify([application, body]))
    .digest("hex");
  if ((await host.notes.get(NOTE)) === print) return;
  await api.act("PUT", `/applications/${application}/commands`, { body });
  await host.notes.set(NOTE, print);
}

const askApplication = async (api: Api): Promise<APIApplication> => api.ask<APIApplication>("GET", "/applications/@me");

/** Flags of the Message Content Intent: fully, or for a bot in less than a hundred servers. */
const MESSAGE_CONTENT = (1 << 18) | (1 << 19);

/** Whether the developer portal lets the bot read the text of messages. Throws the errors of the API. */
export async function mayReadText(api: Api): Promise<boolean> {
  return ((await askApplication(api)).flags & MESSAGE_CONTENT) !== 0;
}
