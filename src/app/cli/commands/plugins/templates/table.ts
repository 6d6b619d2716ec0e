import { channel } from "./channel.ts";
import { contextEngine } from "./context-engine.ts";
import { hook } from "./hook.ts";
import type { Template } from "./template.ts";
import { tool } from "./tool.ts";

/** The kinds of plugins that `openclaw plugins init` writes. */
export const TEMPLATES: readonly Template[] = [contextEngine, tool, hook, channel];
