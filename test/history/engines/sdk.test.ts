import { afterEach, describe, expect, it } from "vitest";
import { buildMemorySystemPromptAddition } from "../../../src/api/core.ts";
import { keyNames } from "../../../src/sessions/shown/wire-keys.ts";
import { DEFAULT_AGENT } from "../../../src/types/ids.ts";
import { setPluginHost } from "../../../src/plugins/host-slot.ts";

const nobody = async () => ({ ok: false, compacted: false });
let forget: () => void = () => undefined;
afterEach(() => forget());

describe("the memory plugin's part of the system prompt", () => {
  it("is what the gateway has of it, and nothing without one", () => {
    const request = { availableTools: new Set(["memory_search"]), citationsMode: "on" };
    expect(buildMemorySystemPromptAddition(request)).toBeUndefined();
    forget = setPluginHost({
      keys: keyNames(() => DEFAULT_AGENT),
      compact: nobody,
      memoryPrompt: ({ availableTools, citationsMode }) => [
        `${[...availableTools].join()} ${citationsMode}`,
        "Recall.",
      ],
      hooksOf: () => [],
      commandNames: () => [],
      config: () => ({}),
    });
    expect(buildMemorySystemPromptAddition(request)).toBe("memory_search on\nRecall.");
    forget();
    expect(buildMemorySystemPromptAddition(request)).toBeUndefined();
  });

  it("comes from the gateway that registered last", () => {
    const first = setPluginHost({
      keys: keyNames(() => DEFAULT_AGENT),
      compact: nobody,
      memoryPrompt: () => ["first"],
      hooksOf: () => [],
      commandNames: () => [],
      config: () => ({}),
    });
    forget = setPluginHost({
      keys: keyNames(() => DEFAULT_AGENT),
      compact: nobody,
      memoryPrompt: () => ["second"],
      hooksOf: () => [],
      commandNames: () => [],
      config: () => ({}),
    });
    first();
    expect(buildMemorySystemPromptAddition({ availableTools: new Set() })).toBe("second");
  });
});
