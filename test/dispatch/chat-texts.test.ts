import { describe, expect, it } from "vitest";
import { noticeFor } from "../../src/dispatch/notices/chat-texts.ts";
import { FAILURE_KINDS, type Failure } from "../../src/types/run/run.ts";

const told = (failure: Failure) => noticeFor({ kind: "failed", failure }) ?? "";

describe("what a person reads of a failure", () => {
  it("is the provider's own words where only those say what is wrong", () => {
    const message = '400 "auto" tool choice requires --enable-auto-tool-choice (BadRequestError)';
    expect(told({ kind: "format", message })).toBe(
      '⚠️ The model\'s provider did not accept the request. It said: "auto" tool choice requires --enable-auto-tool-choice (BadRequestError)',
    );
    expect(told({ kind: "unknown", message: "418 I am a teapot" })).toContain("I am a teapot");
    expect(told({ kind: "output_limit", message: "400 max_tokens is too large" })).toContain("max_tokens is too large");
    expect(told({ kind: "format", message: `400 ${"word ".repeat(200)}` }).length).toBeLessThan(300);
  });

  it("has nothing of the provider's own words for a guest", () => {
    const failure: Failure = { kind: "format", message: "400 no access for org-4711 at /srv/models" };
    expect(noticeFor({ kind: "failed", failure }, { isGuest: true })).toBe(
      "⚠️ The model's provider did not accept the request. The operator can see why with `openclaw runs show`.",
    );
  });

  it("has nothing of the gateway's own errors", () => {
    expect(told({ kind: "unknown", message: "ENOENT: /home/me/secret" })).not.toContain("ENOENT");
    expect(told({ kind: "format", message: "400 without a reason" })).toBe(
      "⚠️ The model's provider did not accept the request.",
    );
  });

  it("advises a fresh conversation only where that can help", () => {
    const message = "400 too long";
    const figures = { limitTokens: 4096, requestedTokens: 10_247 };
    const grown = told({ kind: "context_overflow", message, ...figures });
    expect(grown).toContain("/new");
    expect(grown).toContain("takes 4,096 tokens, this needed 10,247 tokens");
    const alone = told({ kind: "context_overflow", message, ...figures, isAlone: true });
    expect(alone).toContain("This message is too long");
    expect(alone).toContain("4,096 tokens");
    expect(alone).not.toContain("/new");
    const advised = FAILURE_KINDS.filter((kind) => told({ kind, message: "400 no" }).includes("/new"));
    expect(advised).toEqual([
      "context_overflow",
      "thinking_refused",
      "role_ordering",
      "call_ordering",
      "compaction_failure",
    ]);
  });
});
