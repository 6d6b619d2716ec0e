// node schemas.mjs   what the schemas of the gateway's own tools cost in each request: for each profile, and the tool `message` in a chat of
// each channel. A quarter of their characters.
import process from "node:process";
import { configSchema } from "../../src/app/config/schema/schema.ts";
import { builtInTools } from "../../scripts/docs/built-in-tools.ts";
import { profilesWith } from "../../src/tools/policy/stages.ts";
import { inputFor } from "../../src/tools/message/fields.ts";
import { messageActions } from "../kit/message-actions.mjs";
import { save } from "../kit/numbers.mjs";

const tools = builtInTools(configSchema.parse({}).browser);
const tokensOf = ({ name, schema }) => Math.ceil((JSON.stringify(schema).length + name.length) / 4);
const sum = (some) => some.reduce((all, tool) => all + tokensOf(tool), 0);
const profiles = ["minimal", "coding", "messaging"].map((profile) => [
  profile,
  sum(tools.filter(({ name }) => profilesWith(name).includes(profile))),
]);
const message = messageActions.map(({ channel, actions, hasButtons }) => [
  channel,
  tokensOf({ name: "message", schema: inputFor(actions, hasButtons).jsonSchema }),
]);
save("schemas", {
  tokens: { ...Object.fromEntries(profiles), full: sum(tools) },
  message: Object.fromEntries(message),
});
process.exit(0);
