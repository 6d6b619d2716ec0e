import { afterEach, beforeEach, expect, test } from "vitest";
import { fetchMedia } from "../../src/dispatch/media/media.ts";
import type { FetchedFile } from "../../src/types/chat/channel.ts";
import { OpenClawError } from "../../src/types/errors.ts";
import type { MediaItem } from "../../src/types/chat/message.ts";
import { NotNow } from "../../src/types/not-now.ts";
import { PNG } from "../kit/pictures.ts";
import { until } from "../kit/until.ts";
import { type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { nextMessage } from "../kit/inbound.ts";

let fixture: DispatchFixture;
let asked: string[];
beforeEach(async () => {
  fixture = await openDispatchFixture();
  asked = [];
});
afterEach(() => fixture.close());

const photo = (ref: string, more: Partial<MediaItem> = {}): MediaItem => ({
  kind: "image",
  name: `${ref}.png`,
  source: { at: "platform", ref },
  ...more,
});

/** The platform gives files of these refs; the first so many times not yet. */
function give(answer: (ref: string, time: number) => FetchedFile | Error): void {
  const download = async ({ source }: MediaItem): Promise<FetchedFile> => {
    const ref = source.at === "platform" ? source.ref : "";
    asked.push(ref);
    const got = answer(ref, asked.filter((one) => one === ref).length);
    if (got instanceof Error) throw got;
    return got;
  };
  Object.assign(fixture.platform, { download });
}

const png = (): FetchedFile => ({ bytes: PNG, mime: "image/png" });

test("a photo that was in the journal at the start is fetched once its account is connected", async () => {
  give(png);
  fixture.isLinked = false;
  const first = await fixture.boot();
  await first.journal.inbox.accept([nextMessage("what is on it?", "1", { media: [photo("a")] })]);
  await first.stop();

  const second = await fixture.boot();
  const [row] = await second.journal.inbox.open();
  await second.recover();
  await until(async () => (await second.journal.inbox.ofRun((await open(second))?.runId ?? "")).length === 1);
  expect(asked).toEqual([]);
  fixture.isLinked = true;
  expect(await second.outcome(row!)).toEqual({ kind: "replied" });
  expect(asked).toEqual(["a"]);
  expect(fixture.model.calls.map(({ said }) => /\[media attached: \S+-a\.png \(image/.test(said))).toEqual([true]);
});

test("a file's name reaches the model, so that it can distinguish two files of one type", async () => {
  give((ref) => ({ bytes: Buffer.from(`%PDF-1.7\n% ${ref}\n`), mime: "application/pdf" }));
  const boot = await fixture.boot();
  const media = ["report", "invoice"].map((ref) => photo(ref, { kind: "document", name: `${ref}.pdf` }));
  const row = await boot.tell("summarise report.pdf", "1", { media });
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  const said = fixture.model.calls[0]?.said ?? "";
  const names = [...said.matchAll(/\[media attached[^:\]]*: \S+-(\w+\.pdf) /g)].map((match) => match[1]);
  expect(names).toEqual(["report.pdf", "invoice.pdf"]);
});

const open = async (boot: Awaited<ReturnType<DispatchFixture["boot"]>>) => (await boot.journal.inbox.open())[0];

test("a photo that its platform cannot give at once is asked for again, and their order stays", async () => {
  give((ref, time) => (ref === "a" && time === 1 ? new NotNow("Telegram answers 502") : png()));
  const boot = await fixture.boot();
  const names = ["a", "b", "c"];
  const row = await boot.tell("look", "1", {
    media: names.map((ref, at) => photo(ref, { kind: "document", durationSeconds: at + 1 })),
  });
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(asked).toEqual(["a", "b", "c", "a"]);
  const notes = fixture.model.calls[0]?.said.match(/\[media attached \d\/3: [^\n]+ \(image\/png, (\d) s\)\]/g) ?? [];
  expect(notes.map((note) => note.slice(-6))).toEqual(["1 s)]", "2 s)]", "3 s)]"].map((end) => ` ${end}`));
});

test("a stop ends a turn that waits for its photo", async () => {
  give(() => new NotNow("Telegram answers 502", { afterMs: 30_000 }));
  const boot = await fixture.boot();
  const row = await boot.tell("look", "1", { media: [photo("a")] });
  await until(() => asked.length === 1);
  await boot.tell("/stop");
  expect(await boot.outcome(row)).toEqual({ kind: "aborted" });
  expect(fixture.model.calls).toEqual([]);
  expect(asked).toHaveLength(1);
});

test("a file that cannot be fetched is reported to the model, the log and the receipt, also where the message has nothing else", async () => {
  const problem = { message: "A file on Telegram is larger than 20 MB.", fix: "Ask for a smaller file." };
  give((ref) => (ref === "big" ? new OpenClawError("MEDIA_TOO_LARGE", problem) : png()));
  const boot = await fixture.boot();
  const big = photo("big", { kind: "voice", mime: "audio/ogg", durationSeconds: 7 });
  const row = await boot.tell("", "1", { media: [big] });
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(fixture.model.calls[0]?.said).toContain(
    "[media not available: big.png (voice, audio/ogg, 7 s): A file on Telegram is larger than 20 MB]",
  );
  expect(fixture.log.lines.join("\n")).toMatch(/warn media not fetched.*larger than 20 MB/);
  const next = await boot.tell("see", "1", { media: [photo("dot"), big] });
  expect(await boot.outcome(next)).toEqual({ kind: "replied" });
  const record = await boot.journal.runs.last(boot.keyOf("1"));
  expect(record?.receipt.files).toMatchObject([
    { inboxId: next.id, kind: "image", name: "dot.png", tries: 1, bytes: PNG.length },
    { inboxId: next.id, kind: "voice", name: "big.png", tries: 1, why: "A file on Telegram is larger than 20 MB" },
  ]);
});

test.each([
  ["is none", Buffer.from("<html>404</html>")],
  ["has a torn head", Buffer.from(PNG.subarray(0, 20))],
])("a file that claims to be an image and %s is not shown to the model, now or later", async (_, bytes) => {
  give((ref) => (ref === "fake" ? { bytes, mime: "image/png" } : png()));
  const { journal, ports } = await fixture.boot();
  const accepted = await journal.inbox.accept([nextMessage("see", "1", { media: [photo("fake"), photo("real")] })]);
  const rows = accepted.map(({ row }) => row);
  const { files, images } = await fetchMedia(rows, { ...ports, stopping: new AbortController().signal });
  expect(files).toHaveLength(2);
  expect(images).toEqual([{ type: "image", mimeType: "image/png", data: Buffer.from(PNG).toString("base64") }]);
});

test("a photo that is answered comes with the turn, each photo once, by the rules of the chat", async () => {
  give((ref) => (ref === "gone" ? new OpenClawError("MEDIA_UNAVAILABLE", { message: "gone", fix: "" }) : png()));
  const boot = await fixture.boot();
  const quoting = (...refs: readonly string[]) => ({
    replyTo: { id: "5", sender: "Bob", media: refs.map((ref) => photo(ref)) },
  });
  const row = await boot.tell("what is this?", "1", { ...quoting("a"), media: [] });
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(fixture.model.calls[0]?.said).toMatch(/\[media attached: \S+ \(image\/png\) \| of the replied message\]/);
  expect(fixture.model.calls[0]?.said).toMatch(/"files": \[\s*"image"\s*\]/);
  const both = [nextMessage("one", "1", { media: [photo("b")] }), nextMessage("two", "1", quoting("b", "c", "gone"))];
  const rows = (await boot.journal.inbox.accept(both)).map((one) => one.row);
  asked = [];
  const got = await fetchMedia(rows, { ...boot.ports, stopping: new AbortController().signal });
  expect(asked).toEqual(["b", "c", "gone"]);
  expect(got.files.map(({ quoted }) => quoted)).toEqual([undefined, true]);
  expect(got.missing).toMatchObject([{ name: "gone.png", quoted: true }]);
  expect(got.images).toHaveLength(2);
});
