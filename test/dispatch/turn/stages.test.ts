import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { TURN_STAGES } from "../../../src/dispatch/turn-stages.ts";
import { Turn } from "../../../src/dispatch/turn/turn.ts";
import { sessionKey } from "../../../src/types/ids.ts";

const ROW = /^\| `(\w+)` \| `(src\/dispatch\/stages\/[\w-]+\.ts)` \|/gm;

it("docs/concepts/architecture.md lists the stages of a turn in their order, each with its file", () => {
  const rows = [...readFileSync("docs/concepts/architecture.md", "utf8").matchAll(ROW)];
  expect(rows.map(([, name]) => name)).toEqual(TURN_STAGES.map(({ name }) => name));
  expect(rows.filter(([, , file]) => !existsSync(file ?? ""))).toEqual([]);
});

it("a turn says which stage is missing, and frees what it holds in the opposite order", () => {
  const slot = {
    stopping: new AbortController().signal,
    stoppedBy: undefined,
    isReleased: false,
    at: () => undefined,
    begin: () => undefined,
  };
  const passage = { waits: () => undefined, resumes: async () => undefined, ended: () => undefined };
  const turn = new Turn(sessionKey("telegram:default:1"), { rows: [], pending: [] }, slot, passage);
  expect(() => turn.get("session")).toThrow("no stage has set the turn's session yet");
  const freed: string[] = [];
  turn.atEnd(() => freed.push("session"));
  turn.atEnd(() => freed.push("typing"));
  turn.close();
  turn.close();
  expect(freed).toEqual(["typing", "session"]);
});
