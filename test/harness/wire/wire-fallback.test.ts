import { describe, expect, it } from "vitest";
import type { ModelCall } from "../../fakes/model.ts";
import { settingsFor } from "../../kit/settings.ts";
import { FAILURES, resultOf, shownIn, useScenes } from "./wire-scene.ts";
import { nextTo, REFS } from "./wires.ts";

const scenes = useScenes();
const { scene, expectSound } = scenes;

describe("every failure ends in one visible outcome, and the next turn is answered", () => {
  it.each(FAILURES.filter(({ name }) => name !== "an empty answer"))(
    "$api: $name, after a tool and with a fallback",
    async ({ api, reply, ends, isDead }) => {
      const [kind, , , isHandedOn] = ends;
      const isSilent = ends[0] === "timeout";
      const { ask, sent, faults, sendings } = scene(api, { isDead, isSilent });
      const spare = REFS[nextTo(api)];
      const isMine = (call: ModelCall) => call.model === REFS[api].id;
      let own = 0;
      scenes.fixture.model.answer((call) => {
        if (!isMine(call)) return { text: "from the spare" };
        own += 1;
        return own === 1 ? { text: "", tool: "send", args: { text: "once" } } : reply();
      });
      const events = await ask("please", "turn-1", { candidates: [REFS[api], spare] });
      const [result] = resultOf(events);
      if (isHandedOn) {
        expect(result).toEqual({ kind: "replied", stop: "stop" });
        expect(shownIn(events)).toMatch(/from the spare$/);
        expect(events.filter((event) => event.type === "model_change")).toHaveLength(1);
      } else {
        expect(result).toMatchObject({ kind: "failed", failure: { kind } });
      }
      expect(sent.length).toBeLessThanOrEqual(12);
      const used = isDead === true ? 0 : 1;
      expect(sendings()).toBe(used);

      scenes.fixture.model.answer(() => ({ text: "here again" }));
      const next = await ask("and now", "turn-2", {
        candidates: [REFS[api], spare],
        settings: settingsFor(scenes.fixture.dir),
      });
      expect(resultOf(next)).toEqual([{ kind: "replied", stop: "stop" }]);
      expect(shownIn(next)).toBe("here again");
      expect(faults()).toEqual([]);
      await expectSound(["please", "and now"], used);
    },
  );
});
