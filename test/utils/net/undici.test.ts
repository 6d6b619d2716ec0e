import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const GUARDED = JSON.stringify(new URL("../../../src/utils/net/guarded-fetch.ts", import.meta.url).href);

/** A process that has made no request yet loads both, and sends a form with a file by the library of Discord. */
const program = (loads: readonly string[], port: number) => `
${loads.map((one) => `await ${one};`).join("\n")}
const { REST } = await import("@discordjs/rest");
const rest = new REST({ api: "http://127.0.0.1:${port}/api", retries: 0 }).setToken("t");
await rest.post("/channels/1/messages", { body: { content: "hi" }, files: [{ name: "a.txt", data: Buffer.from("A") }] });
process.exit(0);
`;

const LIBRARY = `import("@discordjs/rest")`;
const OWN = `(await import(${GUARDED})).guardedFetch({ maxBytes: 1 }).then((guarded) => guarded.close())`;

test.each([
  ["before", [OWN, LIBRARY]],
  ["after", [LIBRARY, OWN]],
])("undici that the gateway loads %s a library's own copy leaves the library's forms alone", async (_, loads) => {
  const types: (string | undefined)[] = [];
  const server = createServer((asked, response) => {
    types.push(asked.headers["content-type"]);
    asked.resume().once("end", () => response.setHeader("content-type", "application/json").end(`{ "id": "1" }`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const args = ["--conditions=source", "--input-type=module", "-e", program(loads, port)];
  await promisify(execFile)(process.execPath, args);
  expect(types).toEqual([expect.stringMatching(/^multipart\/form-data; boundary=/)]);
});

const ROOT = path.resolve(import.meta.dirname, "../../..");

test("nothing else loads undici", () => {
  const files = ["src", "extensions"].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name) && !/(?:^|\/)(?:test|node_modules)\//.test(name))
      .map((name) => path.join(folder, name)),
  );
  const loads = /import\("undici"\)|^(?:import|export)(?! type)[^;]* from "undici"/m;
  const found = files.filter((name) => loads.test(readFileSync(path.join(ROOT, name), "utf8")));
  expect(found).toEqual([path.join("src", "utils", "net", "undici.ts")]);
});
