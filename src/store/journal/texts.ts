import { hash } from "node:crypto";
import type { Clock } from "../../types/clock.ts";
import type { Texts } from "../../types/journal.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";
import { text as textIn } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";

/** Keys that are known to be in the table. A forgotten one is only looked up again. */
const MOST_KNOWN = 1000;
/** System prompts, which stay the same from turn to turn, are hashed once. */
const MOST_HASHED = 16;
/** How often a text in use is marked as used, so that it is not pruned. */
const TOUCH_MS = 86_400_000;

/** Texts by their hash. */
export function createTexts(commits: Commits, clock: Clock): Texts {
  const touched = new Map<string, number>();
  const keys = new BoundedMap<string, string>(MOST_HASHED);
  return {
    async put(text) {
      const key = keys.of(text, () => hash("sha256", text, "buffer").toString("hex", 0, 16));
      const now = clock.now();
      const last = touched.get(key);
      if (last !== undefined && now - last < TOUCH_MS) return key;
      await commits.write((sql) => {
        sql.run(
          "INSERT INTO texts (key, text, at) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET at = excluded.at",
          key,
          text,
          now,
        );
      });
      touched.set(key, now);
      forgetOldest(touched, MOST_KNOWN);
      return key;
    },
    get: (key) =>
      commits.read((sql) => {
        const row = sql.one("SELECT text FROM texts WHERE key = ?", key);
        return row && textIn(row, "text");
      }),
  };
}
