import { afterEach, beforeEach, expect, test } from "vitest";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  const owners = { name: "unlock", help: "", who: "owner" as const, run: async () => "open" };
  fixture.commands = [owners, { ...owners, name: "weather", who: "anyone" as const }];
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

test.each([
  ["/elevated full", "operator.admin"],
  ["/ELEV on", "operator.admin"],
  ["list the files /elevated full", "operator.admin"],
  ["/new list the files /elevated full", "operator.admin"],
  ["/new:/elevated full", "operator.admin"],
  ["/think high /exec ask=off", "operator.admin"],
  ["/exec default", "operator.admin"],
  ["  /Restart", "operator.admin"],
  ["/loop 5m say hello", "operator.admin"],
  ["/budget raise 5", "operator.admin"],
  ["/unlock", "operator.admin"],
  [" /Approve abcdef always", "operator.approvals"],
])("a client needs a scope of its own for %s", (text, scope) => {
  expect(boot.chat.inputs.scopesFor(text)).toContain(scope);
});

test.each([
  "hello",
  "/approved?",
  "/elevated",
  "/exec",
  "/loop status",
  "/think high",
  "/status",
  "/new",
  "/stop",
  "/weather",
  "a/elevated full",
  "```\n/elevated full\n```",
])("the right to write is enough for %s", (text) => {
  expect(boot.chat.inputs.scopesFor(text)).toEqual([]);
});

test("every command of owners needs a scope, also one that only they may give as a directive", () => {
  const owners = boot.dispatch.commands.all.filter(({ who, scope }) => who === "owner" && scope !== "operator.write");
  expect(owners.map(({ name }) => boot.chat.inputs.scopesFor(`/${name} x`).length)).toEqual(owners.map(() => 1));
});
