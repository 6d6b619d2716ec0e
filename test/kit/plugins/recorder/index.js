import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createEngine } from "./engine.js";
import { actOnFiles } from "./files.js";
import { shown } from "./shown.js";

const HOOKS = ["gateway_start", "gateway_stop", "session_start", "session_end", "before_reset", "before_prompt_build"];

/** One JSON line for each call: its name, its parameters, and which messages the transcript had at that time. */
function record(call, params, more = {}) {
  const transcript = params?.sessionFile && existsSync(params.sessionFile) ? linesOf(params.sessionFile) : undefined;
  const line = { call, params: shown(params), transcript, ...more };
  appendFileSync(join(process.env.OPENCLAW_STATE_DIR, "recorder.jsonl"), `${JSON.stringify(line)}\n`);
}

const linesOf = (file) =>
  readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [JSON.parse(line)]))
    .flatMap(({ id, message }) => (message ? [{ id, role: message.role, content: message.content }] : []));

// oxlint-disable-next-line import/no-default-export -- as the entries of plugins have it
export default {
  id: "recorder",
  name: "Recorder",
  register(api) {
    const { registrationMode, runtime, config, pluginConfig, source, id } = api;
    record("register", {
      id,
      registrationMode,
      runtimeMode: runtime.registrationMode,
      readOnly: runtime.inspection.readOnly,
      version: runtime.version,
      agents: config.agents,
      pluginConfig,
      source,
    });
    for (const name of HOOKS)
      api.on(name, (event, context) => record(name, { event, context }, filesOf(event?.sessionFile)));
    api.registerTool(
      (context) => {
        record("tool factory", context);
        return {
          name: "recorder_note",
          label: "Note",
          description: "Notes a word.",
          parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
          async execute(callId, { word }) {
            return { content: [{ type: "text", text: `noted ${word}` }], details: { callId } };
          },
        };
      },
      { name: "recorder_note" },
    );
    api.registerCommand({
      name: "recorder",
      description: "Records what a command gets.",
      acceptsArgs: true,
      handler: async (context) => {
        record("command", context);
        return { text: await act(api, context) };
      },
    });
    api.registerContextEngine("recorder", (given) => {
      record("factory", given);
      return createEngine(api, record);
    });
  },
};

/** The file that a hook names, at the time of the call. */
const filesOf = (file) => (file === undefined ? {} : { exists: existsSync(file) });

/** What a test asks for by the words after `/recorder`. */
async function act(api, context) {
  const [word = "", ...rest] = context.args.split(" ");
  const more = rest.length > 0 ? JSON.parse(rest.join(" ")) : {};
  const request = {
    messages: [{ role: "user", content: "short" }],
    systemPrompt: "Summarise.",
    maxTokens: 50,
    ...more,
  };
  try {
    if (word === "bound") return `bound: ${(await context.runtimeContext.llm.complete(request)).text}`;
    if (word === "unbound") return `unbound: ${(await api.runtime.llm.complete(request)).text}`;
    return actOnFiles(api, word, context);
  } catch (error) {
    return `failed: ${error.message}`;
  }
}
