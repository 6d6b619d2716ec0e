import { EarlierPlaces } from "../../../src/store/places.ts";
import { Transcript } from "../../../src/sessions/transcript/transcript.ts";
import type { Clock } from "../../../src/types/clock.ts";
import type { Log } from "../../../src/types/log.ts";
import type { AssistantMessage } from "../../../src/types/run/model.ts";
import type { EntryBody, SessionWindow } from "../../../src/types/session.ts";
import { recordLog } from "../log.ts";
import { answered, asked } from "../transcript-messages.ts";

export const user = asked;
export const assistant = (text: string): AssistantMessage => answered(text);
export const say = (text: string): EntryBody => ({ type: "message", message: user(text) });
export const answer = (text: string): EntryBody => ({ type: "message", message: assistant(text) });

/** A clock that stands still until told; `due` runs what was put off. `waits`: milliseconds of what is put off. */
export function handClock(): Clock & { time: number; due(): void; readonly waits: readonly number[] } {
  let waiting: { call: () => void; ms: number }[] = [];
  return {
    time: Date.UTC(2026, 10, 21),
    now() {
      return this.time;
    },
    after(ms, call) {
      const one = { call, ms };
      waiting.push(one);
      return () => {
        waiting = waiting.filter((other) => other !== one);
      };
    },
    due() {
      for (const { call } of waiting.splice(0)) call();
    },
    get waits() {
      return waiting.map(({ ms }) => ms);
    },
  };
}

/** A state directory that was never moved. */
export const NOWHERE_ELSE = new EarlierPlaces("/nowhere", []);

export function openFile(path: string, log: Log = recordLog()): Promise<Transcript> {
  return Transcript.open({
    path,
    sessionId: "s1",
    cwd: "/tmp",
    earlier: NOWHERE_ELSE,
    log,
    now: () => Date.UTC(2026, 10, 21),
  });
}

/** What a window says, shortly: texts of its messages. */
export const texts = (window: SessionWindow): string[] =>
  window.messages.map(({ message }) => {
    if (typeof message.content === "string") return message.content;
    return message.content.map((part) => (part.type === "text" ? part.text : part.type)).join("");
  });

export const ALL = Number.MAX_SAFE_INTEGER;
