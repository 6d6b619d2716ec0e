// Made by scripts/docs/generate.ts from the folders of extensions/.
import { contributor as containerSandbox } from "../../../extensions/container-sandbox/plugin.ts";
import { contributor as contextWindow } from "../../../extensions/context-window/plugin.ts";
import { contributor as discord } from "../../../extensions/discord/plugin.ts";
import { contributor as llmTask } from "../../../extensions/llm-task/plugin.ts";
import { contributor as memoryCore } from "../../../extensions/memory-core/plugin.ts";
import { contributor as signal } from "../../../extensions/signal/plugin.ts";
import { contributor as slack } from "../../../extensions/slack/plugin.ts";
import { contributor as telegram } from "../../../extensions/telegram/plugin.ts";
import { contributor as whatsapp } from "../../../extensions/whatsapp/plugin.ts";
import type { Contributor } from "../../types/contribution.ts";

/** The extensions that come with the gateway. */
export const BUNDLED: readonly Contributor[] = [
  containerSandbox,
  contextWindow,
  discord,
  llmTask,
  memoryCore,
  signal,
  slack,
  telegram,
  whatsapp,
];
