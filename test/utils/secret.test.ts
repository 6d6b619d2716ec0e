import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/types/secret.ts";
import { KnownSecrets } from "../../src/utils/secrets/known-secrets.ts";
import { isSecretName } from "../../src/utils/secrets/secret-name.ts";
import { processorTime } from "../kit/processor-time.ts";

const known = (...values: readonly string[]) => {
  const secrets = new KnownSecrets();
  for (const value of values) secrets.add(value);
  return secrets;
};

describe("a known secret is masked", () => {
  it("in a text that comes in two pieces, wherever those are parted", () => {
    const secrets = known("abcdefgh-12345", "abcdefgh-12345-longer", "aaaaaaaaaaaa");
    const text = "x abcdefgh-12345 y abcdefgh-12345-longer aaaaaaaaaaaaa abcdefgh-1234 aaa";
    for (let at = 0; at <= text.length; at += 1) {
      const first = secrets.maskBegun(text.slice(0, at));
      const second = secrets.maskBegun(first.rest + text.slice(at));
      expect(first.masked + second.masked + secrets.mask(second.rest)).toBe(secrets.mask(text));
    }
    expect(secrets.maskBegun("no beginning of any").rest).toBe("");
    expect(known().maskBegun("abc")).toEqual({ masked: "abc", rest: "" });
  });

  const value = fc.string({ unit: "grapheme", minLength: 8, maxLength: 60 }).filter((text) => text.trim().length >= 8);
  const around = fc.string({ maxLength: 20 });

  it.each<[string, (text: string) => string]>([
    ["as it is", (text) => text],
    ["in an address", encodeURIComponent],
    ["in JSON", (text) => JSON.stringify(text).slice(1, -1)],
    ["in hexadecimal", (text) => Buffer.from(text).toString("hex")],
  ])("%s, whatever it is and whatever is around it", (_how, write) => {
    fc.assert(
      fc.property(value, around, around, (secret, before, after) => {
        expect(known(secret).mask(before + write(secret) + after)).not.toContain(write(secret));
      }),
    );
  });

  it.each(["base64", "base64url"] as const)("in %s, at any place of the encoded text", (encoding) => {
    fc.assert(
      fc.property(value, around, around, (secret, before, after) => {
        const encoded = Buffer.from(before + secret + after).toString(encoding);
        expect(known(secret).mask(encoded)).toContain("[secret]");
      }),
    );
  });

  it("with what in it is a secret of its own", () => {
    const basic = Buffer.from("me:basic-password-1").toString("base64");
    const { mask } = { mask: (text: string) => all.mask(text) };
    const all = known("Bearer bearer-token-1", `Basic ${basic}`, "postgres://me:db%20password-1@db/x?sslmode=1");
    expect(mask("sent bearer-token-1, basic-password-1, db password-1 and db%20password-1")).toBe(
      "sent [secret], [secret], [secret] and [secret]",
    );
  });

  it("also where one is the beginning of another", () => {
    expect(known("abcdefgh", "abcdefghijkl").mask("x abcdefghijkl abcdefgh y")).toBe("x [secret] [secret] y");
  });

  it("unless it is so short that it may be a word", () => {
    expect(known("a", "ollama").mask("a llama runs ollama")).toBe("a llama runs ollama");
  });

  it("and the number kept is bounded, the oldest forgotten first", () => {
    const secrets = new KnownSecrets();
    for (let at = 0; at < 2001; at++) secrets.add(`rotated-token-${at}-end`);
    expect(secrets.mask("rotated-token-0-end")).toBe("rotated-token-0-end");
    expect(secrets.mask("rotated-token-2000-end")).toBe("[secret]");
    expect(secrets.has("rotated-token-2000-end")).toBe(true);
  });

  it("in a time that does not grow with the number of secrets", () => {
    const line = JSON.stringify({ level: "info", msg: "delivered", text: "word ".repeat(2000) });
    const maskOften = (secrets: KnownSecrets) => () => {
      for (let at = 0; at < 50; at++) secrets.mask(line);
    };
    const timeOf = (secrets: KnownSecrets) =>
      Math.min(...Array.from({ length: 5 }, () => processorTime(maskOften(secrets))));
    const few = known("one-secret-value");
    const many = known(...Array.from({ length: 1500 }, (_, at) => `secret-${at * 7919}-value-${at}`));
    // One that looks for each secret takes 1,500 times as long.
    expect(timeOf(many)).toBeLessThan(50 * timeOf(few));
  });
});

describe("a Secret", () => {
  it("is known from the moment it is made, and never prints", () => {
    const secret = new Secret("made-for-this-test");
    expect(Secret.mask("the answer quotes made-for-this-test")).toBe("the answer quotes [secret]");
    expect(Secret.isKnown("made-for-this-test")).toBe(true);
    expect(`${String(secret)} ${JSON.stringify([secret])}`).toBe('[secret] ["[secret]"]');
  });
});

describe("a name marks a value as secret", () => {
  it.each([
    "botToken",
    "apiKey",
    "api_key",
    "x-api-key",
    "accessKey",
    "accessKeyId",
    "pat",
    "GITHUB_PAT",
    "Authorization",
  ])("%s does", (name) => expect(isSecretName(name)).toBe(true));
  it.each(["maxTokens", "tokenFile", "mainKey", "sessionKey", "format", "compat", "mode", "path"])(
    "%s does not",
    (name) => expect(isSecretName(name)).toBe(false),
  );
});
