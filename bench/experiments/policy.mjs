// node policy.mjs RULES [CALLS]   the time of one decision of the tool policy (its stages are made anew) in a config with so many
// rules: lists of tools, senders and models. Each round counts CALLS decisions about one tool of one sender.
import { isToolAllowed } from "../../src/tools/policy/decide.ts";
import { stagesFor } from "../../src/tools/policy/stages.ts";
import { save } from "../kit/numbers.mjs";

const [rules = 500, calls = 2000] = process.argv.slice(2).map(Number);
const fifth = Math.ceil(rules / 5);
const numbered = (make) => Array.from({ length: fifth }, (_, at) => make(at));
const bySender = (prefix) => Object.fromEntries(numbered((at) => [`${prefix}${at}`, { deny: [`tool_${at}`] }]));
const settings = {
  global: {
    key: "tools",
    deny: numbered((at) => `tool_${at}*`),
    toolsBySender: bySender("telegram:"),
    byProvider: Object.fromEntries(numbered((at) => [`provider-${at}`, { deny: [`tool_${at}`] }])),
  },
  agent: { key: "agents.list[0].tools", alsoAllow: numbered((at) => `tool_${at}`), toolsBySender: bySender("@user") },
  workspaceOnly: true,
};
const subject = {
  hasOwnerRights: false,
  senders: [{ channel: "telegram", id: String(fifth - 1), username: "ada" }],
  depth: 0,
  model: { provider: `provider-${fifth - 1}`, id: "m" },
};

const rounds = Array.from({ length: 5 }, () => {
  const begun = performance.now();
  let allowed = 0;
  for (let call = 0; call < calls; call++)
    allowed += isToolAllowed({ name: "exec" }, stagesFor(settings, subject)) ? 1 : 0;
  if (allowed !== calls) throw new Error("the policy of the benchmark denies what it should allow");
  return (performance.now() - begun) / calls;
});
save("policy", { rules, decisionMs: rounds });
