import { expect, it } from "vitest";
import { EXEC_TURN, exitMessage } from "../../src/automation/command-exit.ts";
import { sessionKey } from "../../src/types/ids.ts";
import { hasOwnerRights } from "../../src/types/run/principal.ts";

it.each([true, false])("a turn after a command's end has the rights of whoever started the command: %s", (isOwner) => {
  const message = exitMessage({
    what: "command",
    name: "exec:1",
    sessionKey: sessionKey("s1"),
    isOwner,
    now: 1,
    to: undefined,
  });
  const principal = EXEC_TURN.actsFor?.(message);
  expect(principal).toMatchObject({ kind: "automation" });
  expect(principal && hasOwnerRights(principal)).toBe(isOwner);
});
