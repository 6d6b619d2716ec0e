import { expect, it } from "vitest";
import { engineMessages } from "../../src/app/runs/message.ts";
import { keepMessages } from "../../src/harness/context/keep-messages.ts";
import type { Texts } from "../../src/types/journal.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import { createHash } from "node:crypto";
import { answer, turns, user } from "../kit/engine.ts";

/** The journal's texts as far as they are seen from outside. */
class KeptTexts implements Texts {
  readonly kept = new Map<string, string>();
  written = 0;

  async put(text: string): Promise<string> {
    const key = createHash("sha256").update(text).digest("hex").slice(0, 32);
    if (!this.kept.has(key)) this.written += text.length;
    this.kept.set(key, text);
    return key;
  }

  get = async (key: string): Promise<string | undefined> => this.kept.get(key);
}

it("costs what a turn adds, however long the conversation is", async () => {
  const texts = new KeptTexts();
  const addedBy = async (messages: readonly ChatMessage[]) => {
    const before = texts.written;
    await keepMessages(messages, texts);
    return texts.written - before;
  };
  const said = turns(1000, "some words here ".repeat(20));
  const whole = await addedBy(said);
  const added = [];
  for (let turn = 0; turn < 20; turn += 1) {
    // The oldest goes, as when the window is full.
    said.splice(0, 2);
    said.push(user(`question ${turn} of late`), answer("a short answer"));
    added.push(await addedBy(said));
  }
  expect(whole).toBeGreaterThan(500_000);
  expect(added.reduce((sum, one) => sum + one, 0) / added.length).toBeLessThan(whole / 50);
});

it("is shown again as it was, without the bytes of images", async () => {
  const texts = new KeptTexts();
  const data = Buffer.alloc(300_000, 7).toString("base64");
  const image = user("see", {
    content: [
      { type: "text", text: "see" },
      { type: "image", mimeType: "image/png", data },
    ],
  });
  const messages = [...turns(40), image, answer("seen")];
  const key = await keepMessages(messages, texts);
  expect(texts.written).toBeLessThan(50_000);
  const shown = await engineMessages(texts.kept.get(key) ?? "", texts.get);
  expect(shown?.length).toBe(messages.length);
  expect(JSON.stringify(shown?.at(-2))).toContain("[image: image/png, 300000 bytes, sha256 ");
  expect(shown?.slice(0, 80).map(({ content }) => content)).toEqual(
    messages.slice(0, 80).map(({ content }) => content),
  );
  const [some = ""] = texts.kept.keys();
  texts.kept.delete(some);
  expect(await engineMessages(texts.kept.get(key) ?? "", texts.get)).toBeUndefined();
});
