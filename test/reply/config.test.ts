import { describe, expect, it } from "vitest";
import { z } from "zod";

import { replyDefaultsShape } from "../../src/reply/config.ts";

describe("replyDefaultsShape", () => {
  const schema = z.strictObject(replyDefaultsShape);

  it("has a default for every key but the mode of typing, which depends on the chat", () => {
    expect(schema.parse({})).toEqual({
      blockStreamingDefault: "off",
      blockStreamingBreak: "text_end",
      blockStreamingChunk: { minChars: 800, maxChars: 1200, breakPreference: "paragraph" },
      blockStreamingCoalesce: { idleMs: 1000 },
      humanDelay: { mode: "off", minMs: 800, maxMs: 2500 },
      typingIntervalSeconds: 4,
    });
    expect(schema.parse({ blockStreamingChunk: { minChars: 5 } }).blockStreamingChunk.maxChars).toBe(1200);
  });

  it("describes every key", () => {
    for (const part of Object.values(replyDefaultsShape)) {
      expect(part.meta()).toMatchObject({ title: expect.any(String), description: expect.any(String) });
    }
    expect(z.toJSONSchema(schema, { io: "input" }).required ?? []).toEqual([]);
  });

  it("refuses unknown keys", () => {
    expect(schema.safeParse({ humanDelay: { mode: "off", max: 1 } }).success).toBe(false);
  });
});
