import net from "node:net";
import { expect, test } from "vitest";
import { walkConfig } from "../kit/gateway/process.ts";
import { ADA, readTranscript, useFaultFixture } from "./fixture.ts";

const fixture = useFaultFixture();

/** A port that leads to the model, or to nobody. */
async function openRoad(to: number): Promise<{ port: number; open(): Promise<void>; shut(): Promise<void> }> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    const onward = net.connect(to, "127.0.0.1");
    for (const end of [socket, onward]) sockets.add(end.on("error", () => end.destroy()));
    socket.pipe(onward).pipe(socket);
  });
  let port = 0;
  const open = async () => {
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    const address = server.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
  };
  const shut = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  await open();
  return { port, open, shut };
}

test("a stream that is cut in the middle is asked again; the chat sees one answer", async () => {
  await fixture().start();
  fixture().model.answer((_call, number) =>
    number === 1 ? { text: "one two three four five", stopAfter: 3 } : { text: "one two three four five" },
  );
  fixture().telegram.say("count");
  await fixture().telegram.waitFor((call) => call.text.includes("five"));
  await fixture().goesOn();
  expect(fixture().shown("one two")).toEqual(["one two three four five"]);
  await readTranscript((await fixture().transcripts())[0] ?? "");
});

test("a stream that is always cut ends in a notice, and the next message works", async () => {
  await fixture().start();
  fixture().model.answer(() => ({ text: "one two three four five", stopAfter: 3 }));
  fixture().telegram.say("count");
  const notice = await fixture().telegram.waitFor((call) => call.text.includes("⚠️"));
  expect(notice.text).toMatch(/broke off|cannot be reached/);
  await fixture().goesOn();
  await readTranscript((await fixture().transcripts())[0] ?? "");
});

test("a model that is gone ends in a notice, and the next message works when it is back", async () => {
  const road = await openRoad(Number(new URL(fixture().model.url).port));
  const url = `http://127.0.0.1:${road.port}/v1`;
  await fixture().home.writeConfig(walkConfig(fixture().telegram, { url }));
  await fixture().start();
  await road.shut();
  fixture().telegram.say("hello?");
  const notice = await fixture().telegram.waitFor((call) => call.text.includes("⚠️"));
  expect(notice.text).toContain("cannot be reached");
  await road.open();
  await fixture().goesOn();
  await road.shut();
});

test("a model that never answers is stopped by the run timeout, visibly", async () => {
  await fixture().config({ agents: { defaults: { model: { primary: "fake/fake-1" }, timeoutSeconds: 1 } } });
  await fixture().start();
  fixture().model.answer(() => "hang");
  fixture().telegram.say("hello?");
  const notice = await fixture().telegram.waitFor((call) => call.text.includes("⚠️"));
  expect(notice.text).toContain("longer than a run may take");
  await fixture().goesOn();
  expect(fixture().telegram.shown(ADA)).toHaveLength(2);
});
