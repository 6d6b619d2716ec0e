import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import { eventsOf, openedByPi, openRunFixture, userTurn, type RunFixture } from "../../kit/run.ts";
import { settingsFor } from "../../kit/settings.ts";
import { makeTool } from "../../kit/tools.ts";
import { textResult } from "../../../src/tools/define.ts";
import { CASES } from "./wire-cases.ts";
import { APIS, faultsEverywhere, REFS, skippingClock, wire, type WireApi } from "./wires.ts";

type Events = Awaited<ReturnType<typeof eventsOf>>;
export const resultOf = (events: Events) => events.flatMap((event) => (event.type === "run_end" ? [event.result] : []));
export const remediesOf = (events: Events) => events.flatMap((event) => (event.type === "retry" ? [event.remedy] : []));
export const shownIn = (events: Events) =>
  events.flatMap((event) => (event.type === "message_end" ? [event.text] : [])).at(-1) ?? "";

/** Each way to fail, at each API that has it. */
export const FAILURES = APIS.flatMap((api) =>
  CASES.flatMap((one) => {
    const reply = one.reply(api);
    return reply ? [{ ...one, api, reply: () => one.reply(api) ?? reply }] : [];
  }),
);

/** Milliseconds after which a model counts as silent: longer than one that answers takes on a busy machine. */
const SILENT_MS = 1000;

/** Opens a run's fixture and a clock for each test; what it returns is of the test that runs. */
export function useScenes() {
  let fixture: RunFixture;
  let clock: ReturnType<typeof skippingClock>;
  const open = async () => {
    fixture = await openRunFixture();
    clock = skippingClock();
  };

  // A client's first call takes long: it is loaded.
  beforeAll(async () => {
    await open();
    for (const api of APIS) await scene(api).ask("warm", `turn-${api}`);
    await fixture.close();
  });
  beforeEach(open);
  afterEach(() => fixture.close());

  /** How a test asks: which models, and a tool that others would notice being used. */
  function scene(api: WireApi, options: { readonly isDead?: boolean | undefined; readonly isSilent?: boolean } = {}) {
    const wired = wire(fixture.model, options.isDead === true ? { deadApi: api } : {});
    let sendings = 0;
    const send = makeTool(
      "send",
      async () => {
        sendings += 1;
        return textResult("sent");
      },
      true,
    );
    const ask = (words: string, id: string, more: Partial<Parameters<RunFixture["start"]>[0]> = {}) =>
      eventsOf(
        fixture.start({
          models: wired.models,
          clock,
          tools: [send],
          thinking: "low",
          candidates: [REFS[api]],
          settings: { ...settingsFor(fixture.dir), idleTimeoutMs: options.isSilent === true ? SILENT_MS : 10_000 },
          turn: userTurn(words, id),
          ...more,
        }).stream,
      );
    return { ...wired, ask, sendings: () => sendings };
  }

  /** Each user's words once, each result once, and pi can open it. */
  async function expectSound(words: readonly string[], results: number): Promise<void> {
    const lines = await fixture.transcript();
    expect(lines.filter((line) => words.some((word) => line === `user: ${word}`))).toEqual(
      words.map((word) => `user: ${word}`),
    );
    expect(lines.filter((line) => line.startsWith("toolResult:"))).toHaveLength(results);
    expect(openedByPi(fixture.session.file)).toHaveLength(lines.length);
    expect(await faultsEverywhere(fixture.session)).toEqual([]);
  }

  /** A date has no fractions, so that its wait is longer by up to two seconds. */
  const inTens = (ms: number): number => (ms > 20_000 && ms < 24_000 ? 20_000 : ms);
  function expectWaits(expected: readonly number[]): void {
    expect(clock.waits.map(inTens)).toEqual(expected.map(inTens));
  }

  return {
    get fixture(): RunFixture {
      return fixture;
    },
    scene,
    expectSound,
    expectWaits,
  };
}
