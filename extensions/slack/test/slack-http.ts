import type http from "node:http";
import { buffer } from "node:stream/consumers";
import { METHODS } from "./slack-methods.ts";
import type { Body } from "./slack-streaming.ts";
import { Refusal } from "./slack-world.ts";
import type { FakeFault, Slack } from "./slack-world.ts";

type Answer = Record<string, unknown> & { readonly ok: boolean };

/** What Slack's HTTP side answers: calls of the Web API, uploads, files. */
export async function answer(
  slack: Slack,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const [, room = "", name = ""] = new URL(request.url ?? "/", "http://x").pathname.split("/");
  const bytes = await buffer(request);
  const token = (request.headers.authorization ?? "").replace(/^Bearer /, "");
  if (room === "commands") {
    const isTaken = slack.respond(name, JSON.parse(bytes.toString("utf8")));
    return void response.writeHead(isTaken ? 200 : 404).end(isTaken ? "ok" : "used_url");
  }
  if (room === "upload") return receiveFile(slack, name, await fileIn(bytes, request), response);
  if (room === "files") return giveFile(slack, name, token, response);
  return answerCall(
    slack,
    { name, token, body: Object.fromEntries(new URLSearchParams(bytes.toString("utf8"))) },
    response,
  );
}

const DONE_ALL_THE_SAME: ReadonlySet<string> = new Set(["lost", "page", "cut", "204"]);

function answerCall(
  slack: Slack,
  { name, token, body }: { name: string; token: string; body: Body },
  response: http.ServerResponse,
): void {
  const fault = takeFault(slack, name);
  if (fault === "drop") return void response.socket?.destroy();
  if (fault === "silence") return;
  if (fault === "429") return void response.writeHead(429, { "retry-after": "1" }).end();
  if (fault === "500") return void response.writeHead(500).end("oops");
  const isDone = fault === undefined || DONE_ALL_THE_SAME.has(fault);
  const result = isDone ? run(slack, name, body, token) : { ok: false, error: fault };
  slack.calls.push({ method: name, body, ok: result.ok });
  if (fault === "lost") return void response.socket?.destroy();
  if (fault === "204") return void response.writeHead(204).end();
  if (fault === "page") return void response.writeHead(200, { "content-type": "text/html" }).end("<html></html>");
  const headers = { "content-type": "application/json", "x-oauth-scopes": slack.scopes };
  response.writeHead(200, headers).end(JSON.stringify(result).slice(0, fault === "cut" ? -9 : undefined));
}

function run(slack: Slack, method: string, body: Body, token: string): Answer {
  try {
    return call(slack, method, body, token);
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, error: error.message };
    throw error;
  }
}

function call(slack: Slack, method: string, body: Body, token: string): Answer {
  const needed = method === "apps.connections.open" ? slack.appToken : slack.botToken;
  if (token !== needed) throw new Refusal(token === "" ? "not_authed" : "invalid_auth");
  const answerTo = METHODS[method];
  if (!answerTo) throw new Refusal("unknown_method");
  return { ok: true, ...answerTo(slack, body) };
}

function takeFault(slack: Slack, method: string): FakeFault | undefined {
  const fault = slack.faults.get(method);
  if (!fault) return undefined;
  fault.count -= 1;
  if (fault.count <= 0) slack.faults.delete(method);
  return fault.how;
}

/** A file comes as it is, or as a part of a form. */
async function fileIn(body: Buffer, { headers }: http.IncomingMessage): Promise<Uint8Array> {
  const type = headers["content-type"] ?? "";
  const bytes = new Uint8Array(body);
  if (!type.startsWith("multipart/form-data")) return bytes;
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  const file = [...form.values()].find((part) => typeof part !== "string");
  return file ? new Uint8Array(await file.arrayBuffer()) : new Uint8Array();
}

function receiveFile(slack: Slack, id: string, bytes: Uint8Array, response: http.ServerResponse): void {
  const file = slack.files.get(id);
  if (file) file.bytes = bytes;
  response.writeHead(file ? 200 : 404).end(file ? `OK - ${bytes.length}` : "");
}

function giveFile(slack: Slack, id: string, token: string, response: http.ServerResponse): void {
  const file = slack.files.get(id);
  // Without a token that may read files Slack shows its sign-in page.
  if (token !== slack.botToken || !slack.scopes.includes("files:read")) {
    response.writeHead(200, { "content-type": "text/html" }).end("<!DOCTYPE html><html></html>");
  } else if (file) {
    response.writeHead(200, { "content-type": String(file.about["mimetype"]) }).end(file.bytes);
  } else {
    response.writeHead(404).end();
  }
}
