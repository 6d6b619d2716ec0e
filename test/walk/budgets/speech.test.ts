import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { PATIENCE, type Home } from "../../kit/gateway/process.ts";
import { type Config, test } from "../../kit/gateway/world.ts";

/** A service that writes down and speaks. */
async function speechService() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    request.resume().on("end", () => {
      if (request.url?.endsWith("/audio/speech") === true)
        return response.setHeader("content-type", "audio/ogg").end("OggS");
      const answer = { text: "buy bread", usage: { type: "duration", seconds: 30 } };
      return response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const config = (more: Config = {}): Config => ({
    audio: { transcription: { baseUrl, model: "hears", costPerMinute: 0.5 } },
    messages: { tts: { auto: "always", providers: { voice: { baseUrl, model: "says", costPerMillionChars: 1000 } } } },
    ...more,
  });
  return { asked, config };
}

const voice = { voice: { file_id: "v", file_unique_id: "v", duration: 30, mime_type: "audio/ogg" }, text: undefined };

const rowsOf = async (home: Home, by: string) =>
  JSON.parse((await home.run(["usage", "--by", by, "--json"])).stdout).rows;

test("what is written down and spoken counts for the person, at its price", async ({ world, expect }) => {
  const { asked, config } = await speechService();
  const { home } = await world.start(config());
  world.telegram.file("v", Buffer.alloc(60_000));
  world.model.answer(() => ({ text: "Bread it is." }));
  world.telegram.say("", { from: { id: 1001, first_name: "Ada" }, more: voice });
  await world.telegram.waitFor(({ method, ok }) => method === "sendVoice" && ok);
  expect(asked).toEqual(["/v1/audio/transcriptions", "/v1/audio/speech"]);
  await expect
    .poll(
      async () =>
        (await rowsOf(home, "model")).map(({ name, input, totalCost }: Record<string, unknown>) => [
          name,
          input,
          totalCost,
        ]),
      PATIENCE,
    )
    .toEqual(
      expect.arrayContaining([
        [expect.stringMatching(/^127\.0\.0\.1:\d+\/hears$/), 500, 0.25],
        ["voice/says", "Bread it is.".length, expect.closeTo(0.012, 9)],
      ]),
    );
  expect(await rowsOf(home, "sender")).toMatchObject([{ name: "telegram:1001", calls: 3 }]);
});

test("neither is asked when the budget does not allow it, and the recording stays a file", async ({
  world,
  expect,
}) => {
  const { asked, config } = await speechService();
  const { home } = await world.start(config({ budgets: { sender: { money: 0.001 } } }));
  world.telegram.file("v", Buffer.alloc(60_000));
  world.telegram.say("", { from: { id: 1001, first_name: "Ada" }, more: voice });
  await world.told("The budget does not allow another model call", 1001);
  expect(asked).toEqual([]);
  expect(await rowsOf(home, "sender")).toEqual([]);
});
