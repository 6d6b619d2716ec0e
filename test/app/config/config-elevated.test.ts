import { describe, expect, it } from "vitest";
import { mayElevate } from "../../../src/app/compose/sandbox/elevated.ts";
import { loadConfigText } from "../../kit/config-text.ts";
import { resolveAgents } from "../../../src/app/config/settings.ts";
import { agentId } from "../../../src/types/ids.ts";
import { message } from "../../kit/inbound.ts";

const ANN = { id: "42", username: "ann", name: "Ann", e164: "+4642" };
const BEN = { id: "77", name: "Ben" };
const OPERATOR = { operator: true } as const;

async function may(tools: object, sender: typeof ANN | typeof BEN, more: { own?: object; isOperator?: boolean } = {}) {
  const list = [{ id: "main", tools: { elevated: more.own } }];
  const text = JSON.stringify({ commands: { ownerAllowFrom: ["42"] }, tools: { elevated: tools }, agents: { list } });
  const { config } = await loadConfigText(text, { path: "/x/openclaw.json", env: {} });
  const said = { ...message({ sender }), ...(more.isOperator === true && { options: OPERATOR }) };
  return mayElevate(said, agentId("main"), config);
}

describe("who may let commands leave the sandbox", () => {
  it("is an owner, and whoever holds the gateway's token, where no list says otherwise", async () => {
    expect(await may({}, ANN)).toBe(true);
    expect(await may({}, BEN)).toBe(false);
    expect(await may({}, BEN, { isOperator: true })).toBe(true);
  });

  it("is switched off for all or for one agent", async () => {
    for (const isOperator of [true, false]) {
      expect(await may({ enabled: false }, ANN, { isOperator })).toBe(false);
      expect(await may({}, ANN, { own: { enabled: false }, isOperator })).toBe(false);
    }
    expect(await may({ enabled: false }, ANN, { own: { enabled: true } })).toBe(false);
  });

  it("is whom a list of the channel names, in the config and in the agent's own entry", async () => {
    const only = (...names: string[]) => ({ allowFrom: { telegram: names } });
    expect(await may(only("77"), BEN)).toBe(true);
    expect(await may(only("77"), ANN)).toBe(false);
    expect(await may({ allowFrom: { signal: ["77"] } }, BEN)).toBe(false);
    expect(await may(only(), ANN)).toBe(false);
    expect(await may(only("*"), BEN, { own: only("42") })).toBe(false);
    expect(await may({}, BEN, { own: only("77") })).toBe(false);
  });

  it.each(["42", "telegram:42", "id:42", "from:telegram:42", "e164:+4642", "+4642", "username:@ann", "name:Ann", "*"])(
    "knows a person by %s",
    async (name) => {
      expect(await may({ allowFrom: { telegram: [name] } }, ANN)).toBe(true);
      if (name !== "*") expect(await may({ allowFrom: { telegram: [name] } }, BEN)).toBe(false);
    },
  );

  it.each(["Ann", "ann", "tag:admin", "name:ann", "id:Ann"])("does not know a person by %s", async (name) => {
    expect(await may({ allowFrom: { telegram: [name] } }, ANN)).toBe(false);
  });
});

describe("an agent", () => {
  const levelOf = async (defaults: object) => {
    const text = JSON.stringify({ agents: { defaults } });
    const { config } = await loadConfigText(text, { path: "/x/openclaw.json", env: {} });
    return resolveAgents(config, { home: "/home/x", stateDir: "/home/x/.openclaw" })[0]?.elevated;
  };

  it("has the level of agents.defaults.elevatedDefault in conversations that set none", async () => {
    expect(await levelOf({})).toBeUndefined();
    for (const level of ["off", "on", "ask", "full"]) expect(await levelOf({ elevatedDefault: level })).toBe(level);
    await expect(levelOf({ elevatedDefault: "always" })).rejects.toThrow("elevatedDefault");
  });
});
