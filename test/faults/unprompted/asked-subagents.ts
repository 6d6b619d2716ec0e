import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import type { ModelCall, ModelReply } from "../../fakes/model.ts";
import type { FaultFixture } from "../fixture.ts";
import { rowsOf } from "./rows.ts";

const isChild = ({ system }: ModelCall): boolean => system.includes("# Subagent Context");
/** The session of a report's subagent. */
const RESULT = /(?<=session agent:main:subagent:|told: (?:\S+ )*)[0-9a-f]{8}-[0-9a-f-]{27}/g;
const resultsIn = (text: string): readonly string[] => [...new Set([...text.matchAll(RESULT)].map(([all]) => all))];
/** A result that was answered before, and is kept for those that follow. */
const ANSWERED =
  /You have already answered this result.*?\[System Message\].*?(?=\[System Message\]|You have already answered|$)/gs;
const newIn = (said: string): readonly string[] => resultsIn(said.replaceAll(ANSWERED, ""));
const isAnnounced = ({ said }: ModelCall): boolean => said.includes("[System Message] [sessionId: ");

/** The labels that this conversation has asked for in its present turn. */
function askedIn({ messages }: ModelCall): readonly string[] {
  const since = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(since).flatMap((message) => JSON.stringify(message).match(/kid-\w+/g) ?? []);
}

/** A person's message names subagents, which are started one after the other; each answers with its result, which the chat is told. */
export function obeyed(call: ModelCall): ModelReply {
  if (isChild(call)) return { text: `result-${/kid-(\w+)/.exec(call.said)?.[1]}-end` };
  if (isAnnounced(call)) return { text: `told: ${newIn(call.said).join(" ")} of result-a-end` };
  const wanted = call.said.match(/kid-\w+/g) ?? [];
  const asked = new Set(askedIn(call).slice(wanted.length));
  const next = wanted.find((label) => !asked.has(label));
  if (next === undefined) return { text: `started ${wanted.join(" ")}` };
  return { tool: "sessions_spawn", args: { task: `do ${next}`, label: next } };
}

/** After a kill the model learns of each call that starts a subagent whether it did. */
export async function expectKnownCalls(at: FaultFixture): Promise<void> {
  for (const path of await at.transcripts())
    expect(await readFile(path, "utf8")).not.toContain("whether it took effect is not known");
}

/** `texts`: what the chats show. Every subagent is reported once, and every report that was told is in its chat once. */
export function expectToldOnce(at: FaultFixture, texts: readonly string[]): void {
  const rows = rowsOf(at);
  const children = rows.filter(({ kind }) => kind === "subagent");
  expect(new Set(children.map(({ text }) => text)).size, "two subagents have one task").toBe(children.length);
  const reports = rows.filter(({ kind }) => kind === "announce");
  expect(reports.map(({ key }) => key).toSorted()).toEqual(children.map(({ key }) => `subagent:${key}:1`).toSorted());
  const shown = texts.filter((text) => text.includes("told: "));
  const firsts = shown.filter((text) => !text.startsWith("(possible repeat)")).flatMap(resultsIn);
  expect(new Set(firsts).size).toBe(firsts.length);
  const told = new Set(shown.flatMap(resultsIn));
  expect(told.size).toBeLessThanOrEqual(children.length);
  const answered = reports.filter(({ outcome }) => ["replied", "merged", "steered"].includes(outcome ?? ""));
  const ends = JSON.stringify(rows.map(({ kind, outcome }) => `${kind} ${outcome}`));
  expect(told.size, `${ends} ${texts.join(" | ")}`).toBeGreaterThanOrEqual(Math.min(answered.length, 1));
}
