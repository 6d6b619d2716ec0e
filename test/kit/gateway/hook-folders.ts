import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The files of a hook that a test puts somewhere. */
interface HookFiles {
  readonly name: string;
  readonly events: readonly string[];
  /** Its code: the module `file`, or `handler.js` as a module. */
  readonly code: string;
  readonly file?: string;
  /** More keys of `metadata.openclaw`. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Writes a hook into a folder of its own below `dir`. Returns that folder. */
export function writeHook(dir: string, { name, events, code, file = "handler.mjs", metadata = {} }: HookFiles): string {
  const folder = join(dir, name);
  mkdirSync(folder, { recursive: true });
  const front = { name, description: `Test: ${name}`, metadata: { openclaw: { events, ...metadata } } };
  const yaml = Object.entries(front).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  writeFileSync(join(folder, "HOOK.md"), ["---", ...yaml, "---", "", `# ${name}`, ""].join("\n"));
  writeFileSync(join(folder, file), code);
  return folder;
}

/** Code that writes each event down, one line of JSON each, in `<state>/<file>`. */
export const recorder = (file: string): string => `
import { appendFileSync } from "node:fs";
import { join } from "node:path";

type Event = { type: string; action: string; sessionKey: string; timestamp: Date; messages: string[]; context: Record<string, unknown> };

export default async (event: Event): Promise<void> => {
  const { messages, conversation, bootstrapFiles, ...context } = event.context;
  const line = { name: event.type + ":" + event.action, sessionKey: event.sessionKey, isDate: event.timestamp instanceof Date, context };
  appendFileSync(join(process.env.OPENCLAW_STATE_DIR as string, ${JSON.stringify(file)}), JSON.stringify(line) + "\\n");
};
`;
