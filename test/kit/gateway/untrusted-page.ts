import { createServer } from "node:http";
import { onTestFinished } from "vitest";

/** Settings with two owners in Telegram, whose agents may fetch pages of this machine and run commands on it. */
export const MAY_FETCH = {
  commands: { ownerAllowFrom: ["1001", "1002"] },
  agents: { defaults: { sandbox: { mode: "off" } } },
  tools: { web: { fetch: { ssrfPolicy: { allowedHostnames: ["127.0.0.1"] } } } },
};

/** The address of a page with a text about a subject, which is there until the test ends. */
export async function serveArticle(subject: string, text: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<article><h1>${subject}</h1><p>There is much to say about ${subject}. ${text}</p></article>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = Object(server.address());
  return `http://127.0.0.1:${port}/${subject}`;
}
