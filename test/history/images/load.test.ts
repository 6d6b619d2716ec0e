import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ImageLoader, type ImageView } from "../../../src/history/images/load.ts";
import { type Resize, resizeWith, type Sharp } from "../../../src/history/images/resize.ts";
import { applyPasses } from "../../../src/history/passes.ts";
import { policyFor } from "../../../src/providers/quirks.ts";
import type { Log } from "../../../src/types/log.ts";
import type { ChatMessage, ImageContent, ToolResultMessage } from "../../../src/types/run/model.ts";
import { png } from "../../kit/pictures.ts";
import { answered, asked } from "../../kit/transcript-messages.ts";

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => quiet };
const claude = policyFor({
  api: "anthropic-messages",
  provider: "anthropic",
  id: "claude-sonnet-4-5",
  input: ["text", "image"],
});
const user = (text: string, ...images: ImageContent[]) => asked([{ type: "text", text }, ...images]);
const answer = answered("I see.");
const image = (bytes: Buffer, mimeType = "image/png"): ImageContent => ({
  type: "image",
  data: bytes.toString("base64"),
  mimeType,
});

let root: string;
let view: ImageView;
const file = (name: string, bytes: Buffer = png(4, 4)) => {
  writeFileSync(join(root, name), bytes);
  return join(root, name);
};
const loader = (resize?: Resize) =>
  new ImageLoader({ log: quiet, mediaDir: join(root, "media"), findResizer: () => Promise.resolve(resize) });
const seenIn = (messages: readonly ChatMessage[]) =>
  messages.map((one) =>
    typeof one.content === "string" ? [] : one.content.flatMap((part) => (part.type === "image" ? [part.data] : [])),
  );

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "images-")));
  for (const name of ["work", "media", "home", "closed"]) mkdirSync(join(root, name));
  view = {
    policy: claude,
    maxSide: 1200,
    places: {
      workspace: join(root, "work"),
      media: join(root, "media"),
      home: join(root, "home"),
      isHidden: async () => false,
    },
  };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("images that turns speak of", () => {
  it("are shown at their places, each file once, and alike each time", async () => {
    const [one, two] = [png(4, 4, 1), png(4, 4, 2)];
    file("work/one.png", one);
    const received = file("media/two.png", two);
    const talk = [asked("see ./one.png"), answer, user(`[media attached: ${received} (image/png)]`), answer];
    const images = loader();
    const shown = await images.show(talk, view);
    const later = [...talk, asked("and ./one.png again, or media://two.png")];
    expect(seenIn(shown)).toEqual([[one.toString("base64")], [], [two.toString("base64")], []]);
    expect(shown[1]).toBe(answer);
    const again = await images.show(later, view);
    expect(again.slice(0, 4).every((message, at) => message === shown[at])).toBe(true);
    expect(again[4]).toBe(later[4]);
  });

  it("are not shown twice when they came with the message", async () => {
    const received = file("media/in.png");
    const came = user(`[media attached: ${received} (image/png)]`, image(png(4, 4)));
    const talk = [came];
    expect(await loader().show(talk, view)).toBe(talk);
  });

  it.each(["anthropic-messages", "openai-completions", "google-generative-ai", "mistral-conversations"])(
    "are never sent to %s when no provider reads them: the model is told, whether they are named or came with the message",
    async (api) => {
      const policy = policyFor({ api, provider: "fake", id: "fake-1", input: ["text", "image"] });
      const header = Buffer.from(png(4, 4));
      header.writeUInt32BE(12_000, 16);
      header.writeUInt32BE(12_000, 20);
      const pictures = {
        "huge.png": header,
        "torn.png": png(40, 40).subarray(0, 60),
        "odd.heic": Buffer.from("ftypheic"),
      };
      for (const [name, bytes] of Object.entries(pictures)) {
        const received = file(`media/${name}`, bytes);
        const named = asked(`[media attached: ${received} (image/${name.split(".")[1]})] what is it?`);
        const seen = applyPasses(await loader().show([named], { ...view, policy }), policy);
        expect(seenIn(seen).flat(), name).toEqual([]);
        expect(JSON.stringify(seen), name).toContain(`[image: ${name} `);
      }
      for (const bytes of [pictures["huge.png"], pictures["torn.png"]]) {
        const came = user("what is it?", image(bytes));
        const seen = applyPasses(await loader().show([came], { ...view, policy }), policy);
        expect(seenIn(seen).flat()).toEqual([]);
        expect(JSON.stringify(seen)).toMatch(/\[image: (?:its data is broken|too large for this model)\]/);
      }
    },
  );

  it("are not for models that cannot see, and cost nothing where there are none", async () => {
    file("work/one.png");
    const talk = [asked("see ./one.png")];
    expect(await loader().show(talk, { ...view, policy: { ...claude, images: false } })).toBe(talk);
    const plain = Array.from({ length: 2000 }, (_, at) => (at % 2 === 0 ? asked(`number ${at}`) : answer));
    expect(await loader().show(plain, view)).toBe(plain);
  });

  it("stay inside the workspace and the received files, whatever links and names say", async () => {
    const outside = file("closed/secret.png");
    symlinkSync(outside, join(root, "work/link.png"));
    file("work/fake.png", Buffer.from("password: 1234"));
    mkdirSync(join(root, "work/dir.png"));
    const texts = [
      outside,
      "./link.png",
      "../closed/secret.png",
      "./fake.png",
      "./dir.png",
      "./none.png",
      "~/none.png",
    ];
    const talk = texts.map((text) => asked(`see ${text} .`));
    expect(seenIn(await loader().show(talk, view)).flat()).toEqual([]);
    const open = { ...view.places, readable: [join(root, "closed")] };
    expect(seenIn(await loader().show(talk, { ...view, places: open })).flat()).toHaveLength(1);
    const closed = { ...open, closed: [join(root, "closed")] };
    expect(seenIn(await loader().show(talk, { ...view, places: closed })).flat()).toEqual([]);
  });

  it("do not come into a turn afterwards; a file that changed is another image", async () => {
    const images = loader();
    const first = asked("write ./out.png");
    expect(await images.show([first], view)).toEqual([first]);
    const path = file("work/out.png", png(4, 4, 1));
    const second = asked("see ./out.png");
    const shown = await images.show([first, second], view);
    expect(seenIn(shown).map((data) => data.length)).toEqual([0, 1]);
    file("work/out.png", png(8, 8, 2));
    utimesSync(path, 1, 1);
    const third = await images.show([first, second, asked("now ./out.png?")], view);
    expect(third[1]).toBe(shown[1]);
    expect(seenIn(third)[2]).toEqual([png(8, 8, 2).toString("base64")]);
  });

  it("are not shown twice when they are asked for with what was shown", async () => {
    const data = [1, 2, 3].map((shade) => png(4, 4, shade).toString("base64"));
    for (const shade of [1, 2, 3]) file(`work/${shade}.png`, png(4, 4, shade));
    const images = loader();
    const talk = [asked("see ./1.png"), user("and ./2.png, ./none.png"), answer, asked("again ./1.png")];
    const first = applyPasses(await images.show(talk, view), claude);
    expect(seenIn(first)).toEqual([data.slice(0, 2), [], []]);
    file("work/none.png");
    const later = [...first, answer, asked("steered: ./3.png and ./2.png")];
    const then = await images.show(later, view);
    expect(then.slice(0, first.length).every((message, at) => message === first[at])).toBe(true);
    expect(seenIn(then).at(-1)).toEqual(data.slice(2));
    const copied = structuredClone(first.slice(0, 1));
    expect(seenIn(await images.show(copied, view))[0]?.slice(0, 2)).toEqual(data.slice(0, 2));
  });

  it("are not read when there are too many: the newest count", async () => {
    const names = Array.from({ length: 65 }, (_, at) => file(`work/${at}.png`, png(4, 4, at)));
    const shown = seenIn(
      await loader().show(
        names.map((name) => asked(`see ${name} .`)),
        view,
      ),
    );
    const first = shown.findIndex((data) => data.length > 0);
    expect(first).toBe(40);
    expect(shown.flat()).toHaveLength(25);
  });
});

describe("images that are too large", () => {
  const big = png(9000, 2);

  it("become words when nothing can make them smaller", async () => {
    file("work/big.png", big);
    file("work/wide.png", png(2000, 2));
    const talk = [asked("see ./big.png"), answer, asked("see ./wide.png"), user("this", image(big))];
    const shown = await loader().show(talk, view);
    expect(JSON.stringify(shown[0])).toContain("[image: big.png is too large");
    expect(seenIn(shown)[2]).toHaveLength(1);
    expect(shown[3]).toBe(talk[3]);
    expect(JSON.stringify(applyPasses(shown, claude))).toContain("[image: too large for this model]");
  });

  it("are made smaller at every position", async () => {
    const small = png(10, 10);
    const asks: unknown[] = [];
    const resize: Resize = (bytes, bounds) => {
      asks.push(bounds);
      return Promise.resolve(bytes.byteLength > 0 ? { bytes: small, mimeType: "image/png" } : undefined);
    };
    file("work/big.png", png(2000, 2));
    const result: ToolResultMessage = {
      role: "toolResult",
      toolCallId: "a",
      toolName: "shot",
      content: [image(big)],
      isError: false,
      timestamp: 3,
    };
    const talk = [asked("see ./big.png"), user("this", image(png(4, 4))), result];
    const images = loader(resize);
    const shown = await images.show(talk, view);
    expect(seenIn(shown)).toEqual([
      [small.toString("base64")],
      [png(4, 4).toString("base64")],
      [small.toString("base64")],
    ]);
    expect(shown[1]).toBe(talk[1]);
    expect(asks).toEqual(Array(2).fill({ maxSide: 1200, maxBytes: 3_932_160 }));
    const again = await images.show(talk, view);
    expect(again.every((message, at) => message === shown[at])).toBe(true);
    expect(asks).toHaveLength(2);
  });

  it("become smaller and coarser step by step until they fit", async () => {
    const tried: string[] = [];
    const sharp: Sharp = () => {
      let size = 0;
      const step: ReturnType<Sharp> = {
        metadata: () => Promise.resolve({ hasAlpha: true }),
        rotate: () => step,
        flatten: () => step,
        resize: ({ width }) => ((size = width), step),
        png: () => ((size = size * 100), tried.push("png"), step),
        jpeg: ({ quality }) => ((size = size * quality), tried.push(`${size / quality}/${quality}`), step),
        toBuffer: () => Promise.resolve(new Uint8Array(size)),
      };
      return step;
    };
    const made = await resizeWith(sharp)(new Uint8Array(1), { maxSide: 100, maxBytes: 5400 });
    expect(made).toMatchObject({ mimeType: "image/jpeg" });
    expect(tried).toEqual(["png", "100/85", "100/70", "100/55", "100/40"]);
    expect(await resizeWith(sharp)(new Uint8Array(1), { maxSide: 100, maxBytes: 1 })).toBeUndefined();
  });
});
