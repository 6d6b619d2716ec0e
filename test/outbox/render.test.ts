import { describe, expect, it } from "vitest";
import { renderParts } from "../../src/outbox/render-parts.ts";
import { RenderThread } from "../../src/outbox/render-thread.ts";
import { labelled, renderText } from "../../src/outbox/render.ts";
import type { ChannelLimits } from "../../src/types/chat/channel.ts";
import type { TextFormat } from "../../src/types/chat/reply.ts";

const limits = (format: TextFormat, more: Partial<ChannelLimits> = {}): ChannelLimits => ({
  text: 200,
  format,
  media: 0,
  ...more,
});

it.each([
  ["telegram-html", "<b>hi</b> there"],
  ["slack-mrkdwn", "*hi* there"],
  ["discord", "**hi** there"],
  ["whatsapp", "*hi* there"],
  ["signal-styled", "hi there"],
  ["plain", "hi there"],
  ["markdown", "**hi** there"],
] as const)("an answer is written as %s", async (format, body) => {
  const [part] = await renderText("**hi** there", limits(format));
  expect(part).toMatchObject({ kind: "text", format, body });
  expect(labelled(part!)).toMatchObject({ body: `(possible repeat) ${body}` });
});

it.each(["telegram-html", "plain"] as const)("%s has no sign that changes how other text is shown", async (format) => {
  for (const text of ["a\u202Eb\u0007c\u2067d 👩\u200D💻", "\u202E\u0000"]) {
    const parts = await renderText(text, limits(format));
    expect(parts.map((part) => part.body)).toEqual(text.startsWith("a") ? ["abcd 👩\u200D💻"] : []);
  }
  const long = await renderText("a\u202Eb ".repeat(2000), limits(format));
  expect(
    long
      .map((part) => part.body)
      .join(" ")
      .replaceAll(/\s+/g, " ")
      .trim(),
  ).toBe("ab ".repeat(2000).trim());
});

it("styles move with the label, and marks of a line keep theirs", async () => {
  const [styled] = await renderText("**hi** there", limits("signal-styled"));
  const part = labelled(styled!);
  const [style] = part.kind === "text" ? (part.styles ?? []) : [];
  expect(part.kind === "text" && part.body.slice(style!.start, style!.start + style!.length)).toBe("hi");
  const [quote] = await renderText("> said", limits("discord"));
  expect(labelled(quote!)).toMatchObject({ body: "(possible repeat) \n> said" });
});

it.each(["slack-mrkdwn", "discord", "whatsapp", "signal-styled", "plain", "markdown"] as const)(
  "%s fits with its label, within the lines",
  async (format) => {
    const text = `\`\`\`\n${"line of code\n".repeat(60)}\`\`\``;
    const parts = await renderText(text, limits(format, { lines: 10 }));
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts) {
      const again = labelled(part);
      if (again.kind === "text") expect(again.body.length).toBeLessThanOrEqual(200);
      if (format !== "markdown") expect(part.body.split("\n").length).toBeLessThanOrEqual(10);
    }
  },
);

it("tables are shown as the channel says", async () => {
  const table = "| a | b |\n|---|---|\n| 1 | 2 |";
  const [part] = await renderText(table, limits("discord", { tables: "bullets" }));
  expect(part?.body).toBe("• **a:** 1\n  **b:** 2");
});

describe("a long text", () => {
  /** Nesting is what a parser works on for longest. */
  const long = `${"> ".repeat(500)}deep\n\n`.repeat(60);

  it("is rendered like a short one, while this thread does other work", async () => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    turn();
    const parts = await renderText(long, limits("telegram-html"));
    isOver = true;
    // One turn after another would be all that this thread had if it rendered by itself.
    expect(turns).toBeGreaterThan(20);
    const withLabel = 200 - "(possible repeat) ".length - 1;
    expect(parts).toEqual(renderParts(long, { format: "telegram-html", text: withLabel }));
  });

  const job = { markdown: "hi", limits: { format: "plain", text: 200 } } as const;
  const program = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const answering = `import { parentPort } from "node:worker_threads"; parentPort.on("message", ({ markdown }) => `;

  it("is rendered though the thread has to wait for the processor", async () => {
    const waiting = `${answering} { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500); parentPort.postMessage([markdown]); })`;
    const thread = new RenderThread(program(waiting), { jobMs: 1000, idleMs: 10 });
    expect(await thread.render(job)).toEqual(["hi"]);
  });

  it.each([
    [
      "takes too long",
      "longer than 2000 ms",
      `${answering} { while (markdown === "hi") {} parentPort.postMessage([markdown]); })`,
    ],
    [
      "breaks",
      "bug",
      `${answering} { if (markdown === "hi") throw new Error("bug"); parentPort.postMessage([markdown]); })`,
    ],
  ])("that %s is given up with the reason, and the next one is rendered", async (_what, why, code) => {
    const thread = new RenderThread(program(code), { jobMs: 2000, idleMs: 10 });
    const texts = [thread.render(job), thread.render({ ...job, markdown: "next" })];
    expect(await Promise.all(texts)).toEqual([{ failed: expect.stringContaining(why) }, ["next"]]);
  });
});
