import { expect, test } from "vitest";
import { agentInKey, channelName, isOwnChat, sessionTitle } from "../../extensions/webchat/page/model/format.ts";
import { readAgents } from "../../extensions/webchat/page/model/agents.ts";
import { agentTitle, initialState, reduce } from "../../extensions/webchat/page/model/state.ts";

test("agents are read with their names and signs, the default one first", () => {
  const more = { workspace: "/w", model: {}, thinkingDefault: "off", thinkingLevels: [], thinkingOptions: [] };
  const agents = [
    { ...more, id: "owl", name: "Night Owl", identity: { emoji: "🦉" } },
    { ...more, id: "fox", identity: { name: "Fox\u202e\n" } },
    { ...more, id: "main" },
  ];
  expect(readAgents({ defaultId: "main", mainKey: "main", scope: "per-sender", agents })).toEqual([
    { id: "main", title: "main" },
    { id: "owl", title: "🦉 Night Owl" },
    { id: "fox", title: "Fox" },
  ]);
});

test("a session of another agent has its channel and title, and the agent's name", () => {
  const key = "agent:owl:webchat:default:1";
  expect(channelName(key)).toBe("Web");
  expect(sessionTitle(key)).toBe("New chat");
  expect([isOwnChat(key), isOwnChat("webchat:default:1"), isOwnChat("main"), isOwnChat("telegram:default:1")]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([agentInKey(key), agentInKey("agent:owl:webchat:default:1", "owl"), agentInKey("webchat:default:1")]).toEqual([
    "owl",
    undefined,
    undefined,
  ]);
  const state = reduce(initialState("main"), {
    type: "catalog",
    change: { agents: [{ id: "owl", title: "🦉 Owl" }] },
  });
  expect([agentTitle(state, key), agentTitle(state, "agent:gone:x"), agentTitle(state, "main")]).toEqual([
    "🦉 Owl",
    "gone",
    undefined,
  ]);
});
