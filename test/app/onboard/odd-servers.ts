import { once } from "node:events";
import { createServer } from "node:http";
import { onTestFinished } from "vitest";

type Reply = readonly [status: number, type: string, body: string];

/** What a model server answers to everything, and the sentence that a person reads then, on the command line and on the page. */
export const ODD_SERVERS: readonly (readonly [what: string, reply: Reply | "nobody", sentence: RegExp])[] = [
  ["nobody", "nobody", /cannot be reached from the machine of the gateway/],
  ["an error of its own", [500, "application/json", '{"error":{"message":"boom"}}'], /was reached, but has an error/],
  ["a broken proxy", [502, "text/html", "<html>Bad Gateway</html>"], /was reached, but has an error of its own/],
  ["a refusal of the key", [401, "application/json", '{"error":{"message":"bad key"}}'], /refuses this key/],
  ["a ban", [403, "text/html", "<h1>Forbidden</h1>"], /refuses this key/],
  [
    "no such model",
    [404, "application/json", '{"error":{"message":"The model m1 does not exist"}}'],
    /has no model "m1"/,
  ],
  ["no such path", [404, "text/html", "<html>Not Found</html>"], /answers, but not as a model server/],
  ["too many requests", [429, "application/json", '{"error":{"message":"slow down"}}'], /takes no more requests/],
  ["a web page", [200, "text/html", "<html><title>Log in</title></html>"], /answers, but not as a model server/],
  ["other JSON", [200, "application/json", '{"hello":1}'], /answers, but not as a model server/],
];

/** An address at which a server answers so. It ends with the test. */
export async function oddServer(reply: Reply | "nobody"): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const [status, type, body] = reply === "nobody" ? ([500, "text/plain", ""] as const) : reply;
      response.writeHead(status, { "content-type": type, connection: "close" }).end(body);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  const close = () => new Promise((resolve) => server.close(resolve));
  if (reply === "nobody") await close();
  else onTestFinished(() => void close());
  return `http://127.0.0.1:${address.port}/v1`;
}
