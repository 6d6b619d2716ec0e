import { PATIENCE } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { test } from "../../kit/gateway/world.ts";

/** As the real gateway does: what was asked is no secret to the model because its answer was stopped. */
test("a turn that was stopped while it answered is read together with the next message, and what it said is not", async ({
  world,
  expect,
}) => {
  const { gateway } = await world.start({ channels: { telegram: { enabled: false } } });
  const held = Promise.withResolvers<undefined>();
  world.model.answer(({ said }) =>
    said.includes("second") ? { text: "done" } : { text: "half an answer", until: held.promise },
  );
  const send = (message: string) =>
    call(gateway, "chat.send", { sessionKey: "main", message, idempotencyKey: message.slice(0, 6) });
  await send("first, please");
  await expect
    .poll(async () => JSON.stringify(await call(gateway, "chat.history", { sessionKey: "main" })), PATIENCE)
    .toContain("half an");
  expect(await call(gateway, "chat.abort", { sessionKey: "main" })).toMatchObject({ aborted: true });
  await send("second, please");
  await call(gateway, "agent.wait", { runId: "second" });
  held.resolve(undefined);
  const { said } = world.model.calls.at(-1)!;
  expect(said).toMatch(/first, please[^]*previous agent run was aborted by the user[^]*second, please/);
  expect(said).not.toContain("half an");
});
