import { expect, it } from "vitest";
import { AnswerEnd } from "../../../src/providers/call/answer-end.ts";

const event = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const chat = (content: string, finish: string | null) =>
  event({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] });
const GARBAGE = "<html>gateway time-out</html>";

interface Stream {
  readonly api: string;
  readonly how: string;
  readonly answer: string;
  readonly state: AnswerEnd["state"];
}

const STREAMS: readonly Stream[] = [
  {
    api: "openai-completions",
    how: "with its mark alone",
    answer: chat("ab", null) + "data: [DONE]",
    state: "over",
  },
  {
    api: "openai-completions",
    how: "with its finish alone",
    answer: chat("ab", null) + chat("", "stop"),
    state: "finished",
  },
  { api: "mistral-conversations", how: "with its finish alone", answer: chat("", "length"), state: "finished" },
  {
    api: "openai-responses",
    how: "with its last event",
    answer: event({ type: "response.output_text.delta", delta: "ab" }) + event({ type: "response.completed" }),
    state: "over",
  },
  {
    api: "anthropic-messages",
    how: "with its last event",
    answer: event({ type: "message_delta", delta: { stop_reason: "end_turn" } }) + event({ type: "message_stop" }),
    state: "over",
  },
  {
    api: "google-generative-ai",
    how: "with its finish alone",
    answer: event({ candidates: [{ finishReason: "STOP" }] }),
    state: "finished",
  },
];

it.each(STREAMS)("an answer of $api $how ends there, wherever its bytes are cut", ({ api, answer, state }) => {
  const bytes = Buffer.from(answer);
  for (let at = 0; at <= bytes.length; at += 1) {
    const end = new AnswerEnd(api);
    const parts = [bytes.subarray(0, at), bytes.subarray(at)].map((part) => Buffer.from(end.take(part)).toString());
    expect([at, end.state]).toEqual([at, state]);
    expect(parts.join("").trimEnd()).toBe(answer.trimEnd());
    if (state === "over") expect(Buffer.from(end.take(Buffer.from(GARBAGE))).toString()).toBe("");
  }
});

it.each(["openai-completions", "mistral-conversations"])(
  "an answer of %s that goes on after a finish has not ended",
  (api) => {
    const end = new AnswerEnd(api);
    end.take(Buffer.from(chat("", "stop")));
    expect(end.state).toBe("finished");
    end.take(Buffer.from(chat("more", null)));
    expect(end.state).toBe("open");
  },
);

it("an event whose line and empty line are missing at the end of the body is ended for the SDK", () => {
  const end = new AnswerEnd("openai-responses");
  end.take(Buffer.from('data: {"type":"response.completed"}'));
  expect(end.state).toBe("finished");
  expect(Buffer.from(end.close()).toString()).toBe("\n\n");
});
