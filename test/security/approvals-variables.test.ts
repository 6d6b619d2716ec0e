import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { until } from "../kit/until.ts";
import { openPlace, type Call, type Place } from "./people.ts";

let place: Place;
/** What a plugin adds to the environment of commands. */
let variables: Record<string, string>;
beforeEach(async () => {
  place = await openPlace();
  variables = { TRACKER_TOKEN: "hunter2-very-secret", TRACKER_URL: "https://tracker.example" };
  place.fixture.hooks = (on) => on("resolve_exec_env", () => variables);
  place = await place.restart();
  await writeFile(join(place.workspace, "show.sh"), 'echo "url: $TRACKER_URL"');
});
afterEach(() => place.close());

const run = (command: string): Call => ({ tool: "exec", args: { command } });
const lastResult = () => place.fixture.model.calls.at(-1)?.toolText ?? "";
const waiting = () => place.boot.chat.approvals.list();

it("a question names the variables that plugins add, and never shows their values", async () => {
  const row = await place.owner.begins(run("sh show.sh"));
  const asked = await place.question();
  expect(asked.variables).toEqual(["TRACKER_TOKEN", "TRACKER_URL"]);
  await until(() => place.fixture.platform.texts.length > 0, "the question in the chat");
  expect(place.fixture.platform.texts[0]).toContain("Plugins set these variables for it: TRACKER_TOKEN, TRACKER_URL.");
  expect(JSON.stringify([asked, place.fixture.platform.texts])).not.toMatch(/hunter2|tracker\.example/);
  place.boot.chat.approvals.resolve(asked.id, "allow-once");
  await place.boot.outcome(row);
  expect(lastResult()).toContain("url: https://tracker.example");
});

it.each([
  ["has another value", () => (variables = { ...variables, TRACKER_URL: "https://evil.example" })],
  ["was added", () => (variables = { ...variables, GIT_AUTHOR_NAME: "x" })],
  ["was removed", () => (variables = { TRACKER_TOKEN: variables["TRACKER_TOKEN"]! })],
])("asks a second time when a variable %s while the question waits", async (_what, change) => {
  const row = await place.owner.begins(run("sh show.sh"));
  const first = await place.question();
  change();
  place.boot.chat.approvals.resolve(first.id, "allow-once");
  await until(() => waiting().some(({ id }) => id !== first.id), "a second question");
  const [second] = waiting();
  expect(second!.reason).toMatch(/^Changed since the last question: the variable [A-Z_]+\.$/);
  place.boot.chat.approvals.resolve(second!.id, "deny");
  await place.boot.outcome(row);
  expect(lastResult()).toContain("A person refused");
});

it("an answer for good is for these variables: with one more the command is asked about again", async () => {
  const row = await place.owner.begins(run("sh show.sh"));
  await place.boot.ask(`/approve ${(await place.question()).id} always`, "owner");
  await place.boot.outcome(row);
  variables = { ...variables, TRACKER_TOKEN: "renewed" };
  expect(await place.owner.does(run("sh show.sh"))).toContain("url: https://tracker.example");
  variables = { ...variables, GIT_AUTHOR_NAME: "x" };
  const again = await place.owner.begins(run("sh show.sh"));
  place.boot.chat.approvals.resolve((await place.question()).id, "deny");
  await place.boot.outcome(again);
  expect(lastResult()).toContain("A person refused");
});
