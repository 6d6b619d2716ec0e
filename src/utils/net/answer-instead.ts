import type { ServerResponse } from "node:http";

/**
 * Answers a request, as plain text, in place of other code that may still try to. Headers that the other code sets
 * afterwards have no effect: Node throws an error for it, which ends the process when the code runs in the listener of
 * an event. Later writes of that code are an `error` event of the response.
 */
export function answerInstead(response: ServerResponse, status: number, text = ""): void {
  if (!response.headersSent)
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end(text);
  const same = (): ServerResponse => response;
  Object.assign(response, { writeHead: same, setHeader: same, setHeaders: same, appendHeader: same });
  Object.assign(response, { removeHeader: () => undefined });
}
