import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startFakeModel, type FakeModel } from "../../../fakes/model.ts";
import { startGatewayFixture, TOKEN, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import { png } from "../../../kit/pictures.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { until } from "../../../kit/until.ts";

const KEY = "agent:main:files";
const SCRIPT = "<script>document.title = 'taken'</script>";
const HTML = `<!doctype html><html><body>${SCRIPT}</body></html>`;
const SVG = `<svg xmlns="http://www.w3.org/2000/svg">${SCRIPT}</svg>`;
const XML = `<?xml version="1.0"?><r xmlns:h="http://www.w3.org/1999/xhtml"><h:script>1</h:script></r>`;
const PDF = "%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\ntrailer<<>>\n%%EOF\n";

/** A sound as Chromium records it: WebM, which films have too, with one track of Opus. */
const SOUND = Buffer.concat([
  Buffer.from(
    "1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff",
    "hex",
  ),
  Buffer.from("A_OPUS"),
  Buffer.alloc(400, 7),
]);

const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
  __openclaw: z.looseObject({
    media: z.array(z.looseObject({ url: z.string(), fileName: z.string().optional() })).optional(),
  }),
});
const history = z.object({ messages: z.array(message) });

let model: FakeModel;
let fixture: GatewayFixture;
let client: RawClient;
let heard: string[];

beforeAll(async () => {
  model = await startFakeModel();
  model.answer(({ said }) =>
    said.includes("bring") ? { text: "Here.\n[[media:tea.html]]\n[[media:song.webm]]" } : { text: "seen" },
  );
  const speech = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      heard.push(Buffer.concat(chunks).toString("latin1"));
      response.setHeader("content-type", "application/json").end(JSON.stringify({ text: "buy bread" }));
    });
  });
  await new Promise<void>((resolve) => speech.listen(0, "127.0.0.1", resolve));
  const { port } = speech.address() as AddressInfo;
  heard = [];
  fixture = await startGatewayFixture({ enabled: false }, model.url);
  const config = JSON.parse(fixture.config());
  config.audio = { transcription: { baseUrl: `http://127.0.0.1:${port}/v1`, model: "hears" } };
  writeFileSync(join(fixture.dir, "openclaw.json"), JSON.stringify(config));
  await fixture.restart();
  client = await fixture.client();
  return () => speech.close();
});
afterAll(async () => {
  await fixture.close();
  await model.close();
});

const file = (fileName: string, mimeType: string, bytes: string | Buffer, more: object = {}) => ({
  type: "file",
  mimeType,
  fileName,
  content: Buffer.from(bytes).toString("base64"),
  ...more,
});

async function send(text: string, attachments: readonly object[], key = KEY): Promise<void> {
  const idempotencyKey = `${key}-${text}`;
  const answer = await client.request("chat.send", { sessionKey: key, message: text, idempotencyKey, attachments });
  expect(answer).toMatchObject({ ok: true });
  const ended = await client.request("agent.wait", { runId: idempotencyKey, timeoutMs: 60_000 });
  expect(ended).toMatchObject({ payload: { status: "ok" } });
}

async function read(key = KEY) {
  const { payload } = await client.request("chat.history", { sessionKey: key });
  return history.parse(payload).messages;
}

const filesOf = async (key: string) => (await read(key)).find(({ role }) => role === "user")?.__openclaw.media ?? [];

const AUTH = { authorization: `Bearer ${TOKEN}` };
const address = (url: string, more = "") =>
  `${fixture.http}/__openclaw__/assistant-media?source=${encodeURIComponent(url)}${more}`;
const fetchFile = (url: string, headers: Record<string, string> = AUTH, more = "") =>
  fetch(address(url, more), { headers });

test("a message tells its files with name, type and size, and each is fetched by its address", async () => {
  await send("look", [
    file("dot.png", "image/png", png(2, 2)),
    file("list.csv", "text/csv", "a,b\n1,2\n"),
    file("paper.pdf", "application/pdf", PDF),
  ]);
  const [said] = await read();
  expect(said).toMatchObject({
    content: [
      { type: "text", text: "look" },
      { type: "image", fileName: "dot.png" },
    ],
    __openclaw: {
      media: [
        { kind: "image", contentType: "image/png", fileName: "dot.png" },
        { kind: "document", contentType: "text/csv", fileName: "list.csv", sizeBytes: 8 },
        { kind: "document", contentType: "application/pdf", fileName: "paper.pdf", sizeBytes: PDF.length },
      ],
      mediaImageLayout: { slots: [{ kind: "inline", factIndex: 0 }] },
    },
  });
  const [dot, list] = await filesOf(KEY);
  const shown = await fetchFile(dot?.url ?? "");
  expect(shown.headers.get("content-type")).toBe("image/png");
  expect(Buffer.from(await shown.arrayBuffer())).toEqual(png(2, 2));
  const saved = await fetchFile(list?.url ?? "");
  expect(saved.headers.get("content-disposition")).toBe(`attachment; filename="list.csv"; filename*=UTF-8''list.csv`);
  expect(await saved.text()).toBe("a,b\n1,2\n");
  const { payload } = await client.request("artifacts.list", { sessionKey: KEY });
  expect(payload).toMatchObject({
    artifacts: [{ title: "dot.png" }, { title: "list.csv", sizeBytes: 8 }, { title: "paper.pdf" }],
  });
});

test("files that can contain a program are only saved, whatever they claim to be", async () => {
  const key = "agent:main:programs";
  const programs: [string, string, string][] = [
    ["page.html", "text/html", HTML],
    ["page.png", "image/png", HTML],
    ["image.svg", "image/svg+xml", SVG],
    ["image.jpg", "image/jpeg", SVG],
    ["note.xml", "application/xml", XML],
    ["note.xhtml", "application/xhtml+xml", XML],
    ["paper.pdf", "application/pdf", PDF],
    ["code.js", "text/javascript", "alert(1)"],
  ];
  await send(
    "programs",
    programs.map(([name, mime, bytes]) => file(name, mime, bytes)),
    key,
  );
  const files = await filesOf(key);
  expect(files).toHaveLength(programs.length);
  for (const { url, fileName } of files) {
    const { status, headers } = await fetchFile(url);
    const told = Object.fromEntries(headers);
    expect({ fileName, status, ...told }).toMatchObject({
      status: 200,
      "content-type": "application/octet-stream",
      "content-disposition": expect.stringMatching(/^attachment; /),
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringMatching(/^default-src 'none';.*; sandbox$/),
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "private, no-store",
    });
  }
});

test.each([
  ["../../../openclaw.json", "openclaw.json"],
  [String.raw`C:\Users\me\..\notes.txt`, "notes.txt"],
  ["gpj\u202Etxt.exe.txt", "gpjtxt.exe.txt"],
  ["a\u0000b\r\nset-cookie: x\u001B[31m.txt", "ab set-cookie x[31m.txt"],
  [`${"long ".repeat(60)}.txt`, `${"long ".repeat(24).slice(0, 116)}.txt`],
  ["..", undefined],
  ["日本語のファイル.txt", "日本語のファイル.txt"],
  ['"quotes";x=1.txt', "quotes ;x=1.txt"],
])("the name %j is told as %j", async (name, told) => {
  const key = `agent:main:name-${Buffer.from(name).toString("hex").slice(0, 40)}`;
  await send("named", [file(name, "text/plain", "plain")], key);
  const [one] = await filesOf(key);
  expect(one?.fileName).toBe(told);
  const { status, headers } = await fetchFile(one?.url ?? "");
  expect(status).toBe(200);
  expect(headers.get("content-disposition")).toMatch(/^attachment; filename="[\w.-]+"; filename\*=UTF-8''[\w.%-]+$/);
});

test("a file needs the token or its own ticket, and no other address is a file", async () => {
  const [dot, list] = (await filesOf(KEY)).map(({ url }) => url);
  if (dot === undefined || list === undefined) throw new Error("two files were sent");
  for (const headers of [{}, { authorization: "Bearer wrong" }])
    expect((await fetchFile(dot, headers)).status).toBe(401);
  expect((await fetchFile(dot, {}, "&meta=1")).status).toBe(401);
  const meta = z
    .object({ available: z.literal(true), mimeType: z.string(), sizeBytes: z.number(), mediaTicket: z.string() })
    .loose();
  const { mediaTicket, mimeType } = meta.parse(await (await fetchFile(dot, AUTH, "&meta=1")).json());
  expect(mimeType).toBe("image/png");
  const ticket = `&mediaTicket=${encodeURIComponent(mediaTicket)}`;
  expect((await fetchFile(dot, {}, ticket)).status).toBe(200);
  expect((await fetchFile(list, {}, ticket)).status).toBe(404);
  expect((await fetchFile(dot, {}, `${ticket.slice(0, -2)}AA`)).status).toBe(404);
  expect((await fetchFile(dot, {}, "&mediaTicket=v1.e30.x")).status).toBe(404);
  symlinkSync(join(fixture.dir, "openclaw.json"), join(fixture.dir, "media", `${"a".repeat(26)}.png`));
  const no = ["", "openclaw.json", "media://inbound/", "media://inbound/../openclaw.json", "/etc/passwd"];
  const encoded = ["media://inbound/..%2Fopenclaw.json", `media://inbound/${"b".repeat(26)}.png`, "file:///etc/passwd"];
  for (const source of [...no, ...encoded]) {
    expect((await fetchFile(source)).status, source).toBe(404);
    expect(await (await fetchFile(source, AUTH, "&meta=1")).json()).toMatchObject({ available: false });
  }
  expect((await fetchFile(`media://inbound/${"a".repeat(26)}.png`)).ok).toBe(false);
});

test("a part of a file is given for players that ask for it", async () => {
  const [, list] = (await filesOf(KEY)).map(({ url }) => url);
  const part = async (range: string) => {
    const answer = await fetchFile(list ?? "", { ...AUTH, range });
    return [answer.status, answer.headers.get("content-range"), await answer.text()];
  };
  expect(await part("bytes=0-2")).toEqual([206, "bytes 0-2/8", "a,b"]);
  expect(await part("bytes=4-")).toEqual([206, "bytes 4-7/8", "1,2\n"]);
  expect(await part("bytes=-2")).toEqual([206, "bytes 6-7/8", "2\n"]);
  expect(await part("bytes=4-999")).toEqual([206, "bytes 4-7/8", "1,2\n"]);
  expect(await part("bytes=8-")).toEqual([416, "bytes */8", ""]);
  for (const whole of ["bytes=0-", "bytes=5-2", "bytes=0-1,4-5", "lines=1-2"])
    expect(await part(whole)).toEqual([200, null, "a,b\n1,2\n"]);
});

test("a voice message is written down as one of a channel is, and stays a file of the message", async () => {
  const key = "agent:main:voice";
  const voice = file("voice message.webm", "audio/webm;codecs=opus", SOUND, { type: "voice", durationMs: 4200 });
  await send("", [voice], key);
  expect(heard.at(-1)).toContain("audio/webm");
  expect(model.calls.at(-1)?.said).toContain("[Voice message, 4 s] buy bread");
  expect(await filesOf(key)).toMatchObject([
    { kind: "audio", contentType: "audio/webm", fileName: "voice message.webm", durationMs: 4200, transcribed: true },
  ]);
  const sound = await fetchFile((await filesOf(key))[0]?.url ?? "");
  expect(sound.headers.get("content-type")).toBe("audio/webm");
});

test("the files of an answer are told with it, and with a line for clients that show no files", async () => {
  const key = "agent:main:bring";
  const workspace = join(fixture.dir, "workspace");
  writeFileSync(join(workspace, "tea.html"), HTML);
  writeFileSync(join(workspace, "song.webm"), SOUND);
  await send("bring them", [], key);
  const blocks = async () => (await read(key)).flatMap(({ content }) => (typeof content === "string" ? [] : content));
  await until(async () => (await blocks()).some(({ type }) => type === "attachment"), "the files of the answer");
  const files = z
    .array(z.looseObject({ text: z.string(), attachment: z.looseObject({ url: z.string() }) }))
    .parse((await blocks()).filter(({ type }) => type === "attachment"));
  expect(files).toMatchObject([
    {
      text: expect.stringMatching(/^📎 tea\.html /),
      attachment: { kind: "document", label: "tea.html", mimeType: "text/html", sizeBytes: HTML.length },
    },
    { attachment: { kind: "audio", label: "song.webm", mimeType: "audio/webm" } },
  ]);
  const types = await Promise.all(files.map(async ({ attachment }) => (await fetchFile(attachment.url)).headers));
  expect(types.map((headers) => headers.get("content-type"))).toEqual(["application/octet-stream", "audio/webm"]);
});

test("of a file that is gone, the message still tells the name", async () => {
  const files = await filesOf(KEY);
  rmSync(join(fixture.dir, "media"), { recursive: true });
  expect(await filesOf(KEY)).toEqual(files);
  expect((await fetchFile(files[1]?.url ?? "")).status).toBe(404);
  expect(await client.request("artifacts.list", { sessionKey: KEY })).toMatchObject({ ok: true });
});
