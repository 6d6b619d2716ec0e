import { expect, onTestFinished, test } from "vitest";
import { cronActs } from "../../../src/app/gateway/cron/acts.ts";
import { agentId, sessionKey } from "../../../src/types/ids.ts";
import { OPERATOR } from "../../../src/types/run/principal.ts";
import type { TranscriptEntry } from "../../../src/types/session.ts";
import { openCronWorld } from "../../kit/automation/cron.ts";
import { answered, asked, called, given } from "../../kit/transcript-messages.ts";

test("a job gets as many lines of the conversation as asked for, however many tools were called between them", async () => {
  const world = await openCronWorld();
  const boot = await world.boot();
  onTestFinished(async () => {
    await boot.kill();
    await world.close();
  });
  const calls = Array.from({ length: 40 }, (_, at) => [answered([called(`c${at}`)]), given(`c${at}`, "data")]).flat();
  const messages = [asked("water the plants"), answered("Which ones?"), asked("all"), ...calls, answered("Done.")];
  const entries = messages.map((message, at): TranscriptEntry => ({
    id: `e${at}`,
    parentId: null,
    timestamp: "",
    type: "message",
    message,
  }));
  const acts = cronActs({
    desk: boot.desk,
    heartbeats: { wake: async () => undefined, tell: async () => true },
    sessions: {
      history: async (_key, limit) => ({ entries: entries.slice(-limit), hasMore: limit < entries.length }),
    },
  });
  const job = {
    name: "plants",
    schedule: { kind: "every", everyMs: 3_600_000 },
    payload: { kind: "agentTurn", message: "look" },
  };
  const asker = { agentId: agentId("main"), sessionKey: sessionKey("main"), principal: OPERATOR };
  expect(await acts.add(job, { contextMessages: 3 }, asker)).toMatchObject({
    payload: { message: expect.stringMatching(/- Agent: Which ones\?\n- User: all\n- Agent: Done\.$/) },
  });
});
