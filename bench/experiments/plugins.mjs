// node plugins.mjs [PLUGINS (15)] [MESSAGES (100)] [ROUNDS (3)]   What plugins cost: the start with none, with some that are off and with
// the same on; and the processor time of a message with a plugin that has every hook and does nothing, against one without plugins. The two are
// measured in turn, so that a slower machine slows both.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import * as L from "../lib.mjs";

const [plugins, messages, rounds] = [2, 3, 4].map((at, index) => +(process.argv[at] ?? [15, 100, 3][index]));
const HOOKS = [
  "message_received inbound_claim before_dispatch before_model_resolve before_agent_run before_agent_reply",
  "agent_turn_prepare before_prompt_build llm_input llm_output model_call_started model_call_ended before_tool_call after_tool_call",
  "resolve_exec_env tool_result_persist before_message_write before_agent_finalize agent_end reply_payload_sending message_sending",
  "message_sent before_compaction after_compaction",
]
  .join(" ")
  .split(" ");
/** Hooks that a message without tools calls; some of them more than once. */
const CALLED = HOOKS.filter((name) => !/tool|exec|compaction/.test(name)).length;

function writePlugin(id, code) {
  const root = path.join(L.STATE, "extensions", id);
  fs.mkdirSync(root, { recursive: true });
  const write = (name, value) => fs.writeFileSync(path.join(root, name), JSON.stringify(value));
  write("openclaw.plugin.json", { id, configSchema: { type: "object" } });
  write("package.json", { name: id, version: "1.0.0", type: "module", openclaw: { extensions: ["./index.js"] } });
  fs.writeFileSync(path.join(root, "index.js"), code);
}

const NOTHING =
  "export default (api) => { api.registerCommand({ name: api.id, description: 'x', handler: () => ({ text: 'x' }) }); };";
const EVERY_HOOK = `export default (api) => { for (const name of ${JSON.stringify(HOOKS)}) api.on(name, () => undefined); };`;

/** A fresh home with these plugins. */
function home(ids, code, isOn) {
  const entry = { enabled: isOn, hooks: { allowConversationAccess: true } };
  L.mkConfig({ plugins: { entries: Object.fromEntries(ids.map((id) => [id, entry])) } });
  for (const id of ids) writePlugin(id, code);
}

const many = Array.from({ length: plugins }, (_, at) => `p${at}`);
const homes = {
  none: () => home([], NOTHING, false),
  off: () => home(many, NOTHING, false),
  on: () => home(many, NOTHING, true),
};

// A plugin whose files have other times is tried again.
const KEPT = { recursive: true, preserveTimestamps: true };

/** Milliseconds until `/healthz` answers. The first start of a home tries the code of new plugins and is not counted. */
async function starts() {
  const times = { none: [], off: [], on: [] };
  for (const [name, make] of Object.entries(homes)) {
    make();
    await L.stopGateway(await L.startGateway());
    fs.cpSync(L.STATE, `${L.ROOT}/home-${name}`, KEPT);
  }
  for (let round = 0; round < rounds * 3; round++)
    for (const name of Object.keys(homes)) {
      fs.rmSync(L.STATE, { recursive: true });
      fs.cpSync(`${L.ROOT}/home-${name}`, L.STATE, KEPT);
      const gateway = await L.startGateway();
      times[name].push(gateway.healthz);
      await L.stopGateway(gateway);
    }
  return Object.fromEntries(Object.entries(times).map(([name, some]) => [name, L.r1(L.q(some, 0.5))]));
}

/** Milliseconds of processor time a message. */
async function messageCost(hasHooks) {
  home(hasHooks ? ["all-hooks"] : [], EVERY_HOOK, true);
  const gateway = await L.startGateway();
  await L.sleep(2000);
  for (let n = 0; n < 20; n++) await L.roundTrip(5001);
  const before = L.cpu(gateway.child.pid);
  for (let n = 0; n < messages; n++) await L.roundTrip(5001 + (n % 5));
  const cost = ((L.cpu(gateway.child.pid) - before) * 1000) / messages;
  await L.stopGateway(gateway);
  return cost;
}

await L.startFakes();
try {
  const start = await starts();
  const [plain, hooked] = [[], []];
  for (let round = 0; round < rounds; round++) {
    plain.push(await messageCost(false));
    hooked.push(await messageCost(true));
  }
  const [without, withHooks] = [plain, hooked].map((some) => L.q(some, 0.5));
  const perHook = Math.round(((withHooks - without) / CALLED) * 1000) / 1000;
  L.save("plugins", { plugins, start, hooks: CALLED, without: L.r1(without), withHooks: L.r1(withHooks), perHook });
} finally {
  await L.stopAll();
}
process.exit(0);
