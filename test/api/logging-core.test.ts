import { expect, it } from "vitest";
import { processorTime } from "../kit/processor-time.ts";
import { redactSensitiveText } from "../../src/api/logging-core.ts";

const KEY = "q7Wz4mN8pR2tV6xY1bC5dF9g";

it.each([
  `OPENAI_API_KEY=${KEY}`,
  `export GITHUB_TOKEN="${KEY}"`,
  `Authorization: Bearer ${KEY}`,
  `curl -H 'X-Api-Key: ${KEY}' https://a.example`,
  `{"token":"${KEY}"}`,
  `{"nested": {"clientSecret": "${KEY}"}}`,
  `tool --api-key ${KEY} --verbose`,
  `tool --password=${KEY}`,
  `password: ${KEY}`,
  `https://user:${KEY}@a.example/x`,
  `https://a.example/x?access_token=${KEY}&page=2`,
  `sk-proj-${KEY}`,
  `ghp_${KEY}`,
  `xoxb-1234567890-${KEY}`,
  `123456789:AA${KEY}_abcdefgh`,
  `eyJhbGciOiJIUzI1NiJ9.${KEY}.${KEY}`,
  `-----BEGIN RSA PRIVATE KEY-----\n${KEY}\n-----END RSA PRIVATE KEY-----`,
])("what is a secret by its form is masked: %s", (text) => {
  const masked = redactSensitiveText(`before ${text}\nafter`);
  expect(masked).not.toContain(KEY);
  expect(masked).toMatch(/^before [^]*\[secret\][^]*\nafter$/);
  expect(redactSensitiveText(text, { mode: "off" })).toBe(text);
});

it.each([
  "The token was refused: try again.",
  "tokens: 512, max_tokens=4096",
  'the field "token" is missing',
  "Bearer authentication is needed",
  "API_KEY=$OPENAI_API_KEY",
  "git commit -m 'a note'",
  "https://a.example/x?page=2",
])("what is no secret stays: %s", (text) => {
  expect(redactSensitiveText(text)).toBe(text);
});

it("a long text is masked in a time that grows with its length", () => {
  for (const part of [
    "a=",
    "a: ",
    '"a":',
    "--a ",
    "https://",
    "-----BEGIN PRIVATE KEY-----",
    "bearer ",
    " ".repeat(20),
    "eyJ",
    "a".repeat(50),
  ]) {
    const text = part.repeat(Math.ceil(400_000 / part.length));
    expect(processorTime(() => redactSensitiveText(text))).toBeLessThan(3000);
  }
});

it("what a pattern of the caller matches is masked too", () => {
  expect(redactSensitiveText("room 4711", { patterns: ["\\d{4}"] })).toBe("room ***");
});
