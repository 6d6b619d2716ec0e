import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openPlace, type Place } from "./people.ts";

let place: Place;
let server: http.Server;
let asked: string[];
beforeEach(async () => {
  place = await openPlace();
  asked = [];
  server = http.createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("file");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await place.close();
  server.close();
});

const port = () => (server.address() as AddressInfo).port;
const fetchOf = (media: string) => ({ tool: "message", args: { message: "see", media } });
const permit = (mediaHosts: readonly string[]) => {
  const { agent } = place.fixture.rules;
  place.fixture.rules = { agent: { ...agent, messageTool: { ...agent!.messageTool!, mediaHosts } } };
};

it.each(["http://localhost:PORT/?d=SECRET", "https://secret.example.test/x", "HTTP://localhost:PORT/", "ftp://x/y"])(
  "a guest's turn fetches nothing by the message tool: %s",
  async (address) => {
    const result = await place.guest.does(fetchOf(address.replace("PORT", String(port()))));
    expect(result).toContain("Nothing was fetched and nothing sent");
    expect(result).toContain("tools.message.mediaHosts");
    expect(asked).toEqual([]);
    expect(place.fixture.platform.texts.join()).not.toContain("see\n");
  },
);

it("an owner's turn does not stop at that rule, but at the one for private addresses", async () => {
  expect(await place.owner.does(fetchOf(`http://localhost:${port()}/`))).toContain("the file cannot be had");
});

it("a host that the operator lists is fetched from, and no other", async () => {
  permit(["localhost"]);
  expect(await place.guest.does(fetchOf(`http://localhost:${port()}/`))).toContain("the file cannot be had");
  expect(await place.guest.does(fetchOf("http://notlocalhost/"))).toContain("Nothing was fetched");
  permit(["*"]);
  expect(await place.guest.does(fetchOf(`http://localhost:${port()}/`))).toContain("the file cannot be had");
});

it("a directive or an image in an answer is a link, and nothing is fetched for it", async () => {
  const address = `http://localhost:${port()}/x.png?d=SECRET`;
  place.fixture.model.answer(() => ({ text: `look [[media:${address}]] and ![x](${address})` }));
  await place.boot.outcome(await place.guest.says("hi"));
  expect(asked).toEqual([]);
  expect(place.fixture.platform.texts.join()).toContain("x.png");
});
