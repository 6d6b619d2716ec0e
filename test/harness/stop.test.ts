import type { HookRunner } from "../../src/types/hook/hooks.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BuiltInTurn } from "../../src/history/engines/turn/built-in-turn.ts";
import type { ContextEngine } from "../../src/types/engine/context-engine.ts";
import type { EngineTurn } from "../../src/types/engine/engine-turn.ts";
import { TIMEOUTS } from "../kit/engine.ts";
import { manualClock } from "../kit/clock.ts";
import { MODEL, modelsAt } from "../kit/models.ts";
import { openRunFixture, type RunFixture } from "../kit/run.ts";
import { openerAt } from "./engine-opener.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

type More = NonNullable<Parameters<RunFixture["start"]>[0]>;

/** Something that is asked once and answers when told so. */
function slow<T>() {
  const asked = Promise.withResolvers<undefined>();
  const answer = Promise.withResolvers<T>();
  return { asked: asked.promise, answer: answer.resolve, ask: () => (asked.resolve(undefined), answer.promise) };
}

const disposed: string[] = [];
const engine = (id: string): ContextEngine => ({
  info: { id, name: id },
  ingest: async () => ({ ingested: true }),
  assemble: async ({ messages }) => ({ messages, estimatedTokens: 1 }),
  compact: async () => ({ ok: true, compacted: false }),
  dispose: async () => void disposed.push(id),
});

const opener = (factory: () => Promise<ContextEngine>) =>
  openerAt(fixture, {
    id: "late",
    engines: { get: () => Promise.resolve(factory), whyMissing: () => undefined },
    more: ({ signal }) => ({ signal }),
  });

interface Hang extends More {
  readonly asked: Promise<undefined>;
  late(): void;
}

/** A gateway without plugins. */
const NO_HOOKS: HookRunner = {
  has: () => false,
  ask: async () => [],
  first: async () => undefined,
  gate: async () => undefined,
  chain: async () => undefined,
  chainNow: () => undefined,
  notify: () => undefined,
};
const isShaping = (name: string): boolean => name === "before_prompt_build";

/** What may hang in front of the first model call. */
const HANGING: Record<string, () => Hang> = {
  "a hook": () => {
    const { ask, asked, answer } = slow<never[]>();
    return { asked, late: () => answer([]), hooks: { ...NO_HOOKS, has: isShaping, ask } };
  },
  "the system prompt": () => {
    const { ask, asked, answer } = slow<{ text: string; parts: [] }>();
    return { asked, late: () => answer({ text: "", parts: [] }), systemPrompt: ask };
  },
  "the opening of an engine": () => {
    const { ask, asked, answer } = slow<EngineTurn>();
    const builtIn = new BuiltInTurn("late", () => Promise.reject(new Error("nothing is compacted")));
    const turn = Object.assign(builtIn, { end: async () => void disposed.push("late") });
    return { asked, late: () => answer(turn), openEngine: ask };
  },
  "an engine's factory": () => {
    const { ask, asked, answer } = slow<ContextEngine>();
    return { asked, late: () => answer(engine("late")), openEngine: opener(ask) };
  },
  "a key's renewal": () => {
    const { ask, asked, answer } = slow<{ missing: string }>();
    return { asked, late: () => answer({ missing: "gone" }), models: { ...modelsAt(fixture.model.url), find: ask } };
  },
};

describe.each(Object.keys(HANGING))("while %s hangs", (name) => {
  const hang = () => {
    disposed.splice(0);
    const made = HANGING[name]?.();
    if (!made) throw new Error(name);
    const { asked, late, ...more } = made;
    return { asked, late, more };
  };

  it("a stop ends the run within a second, and the user's words stay", async () => {
    const { asked, more } = hang();
    const run = fixture.start(more);
    await asked;
    run.abort("user");
    expect(await run.stream.done).toEqual({ kind: "aborted", by: "user" });
    await run.settle();
    expect(await run.compactWhenFull()).toBeUndefined();
    expect(await fixture.transcript()).toEqual(["user: hello"]);
    expect(fixture.model.calls).toEqual([]);
  });

  it("the run's own timeout ends it as a timeout", async () => {
    const { asked, more } = hang();
    const clock = manualClock();
    const run = fixture.start({ ...more, clock, timeoutMs: 3000 });
    await asked;
    clock.pass(3000);
    expect(await run.stream.done).toEqual({ kind: "aborted", by: "timeout" });
  });

  it("what comes too late changes nothing, and a late engine is disposed", async () => {
    const { asked, late, more } = hang();
    const run = fixture.start(more);
    await asked;
    run.abort("user");
    await run.stream.done;
    late();
    await expect.poll(() => disposed).toEqual(name.includes("engine") ? ["late"] : []);
    expect(fixture.model.calls).toEqual([]);
    expect(fixture.log.lines.filter((line) => line.startsWith("error"))).toEqual([]);
  });
});

describe("a shutdown in front of the first model call", () => {
  it("leaves no trace in the conversation, so that the turn begins again", async () => {
    const { ask, asked } = slow<never[]>();
    const run = fixture.start({ hooks: { ...NO_HOOKS, has: isShaping, ask } });
    await asked;
    run.abort("shutdown");
    expect(await run.stream.done).toEqual({ kind: "aborted", by: "shutdown" });
    expect(await fixture.session.after("turn-1")).toBeUndefined();
  });
});

describe("an engine that comes later than its time", () => {
  it("is disposed, and so is one that cannot be used", async () => {
    disposed.splice(0);
    const { ask, asked, answer } = slow<ContextEngine>();
    const clock = manualClock();
    const openEngine = openerAt(fixture, {
      id: "late",
      engines: { get: () => Promise.resolve(ask), whyMissing: () => undefined },
      more: ({ signal }) => ({ signal, clock }),
    });
    const run = fixture.start({ openEngine, candidates: [MODEL] });
    await asked;
    clock.pass(TIMEOUTS.bootstrap);
    expect(await run.stream.done).toMatchObject({ kind: "failed", failure: { kind: "engine" } });
    answer(engine("late"));
    await expect.poll(() => disposed).toEqual(["late"]);
    const other = fixture.start({ openEngine: opener(async () => engine("other")) });
    expect(await other.stream.done).toMatchObject({ kind: "failed", failure: { kind: "engine" } });
    await expect.poll(() => disposed).toEqual(["late", "other"]);
  });
});
