import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type PoolLimits, TranscriptPool } from "../../src/sessions/pool.ts";
import { sessionKey } from "../../src/types/ids.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";
import { openFile, say } from "../kit/store/transcript-file.ts";

let state: StateDir;

beforeEach(async () => {
  state = await openStateDir();
});
afterEach(() => state.remove());

/** A pool, and a function that says `text` in a conversation. Returns whether its file had to be opened. */
function openPool(limits: PoolLimits) {
  const pool = new TranscriptPool(limits);
  const speak = async (name: string, text: string): Promise<boolean> => {
    const path = join(state.dir, `${name}.jsonl`);
    let isOpened = false;
    const transcript = await pool.hold(sessionKey(name), path, () => {
      isOpened = true;
      return openFile(path);
    });
    await transcript.append(say(text));
    await pool.release(sessionKey(name));
    return isOpened;
  };
  return { pool, speak };
}

const LONG = "a word and another word, ".repeat(4000);

it("keeps conversations in memory until their number is above the limit", async () => {
  const { pool, speak } = openPool({ count: 2, bytes: 2 ** 30 });
  expect([await speak("a", LONG), await speak("b", "hello"), await speak("a", "hello")]).toEqual([true, true, false]);
  expect([await speak("c", "hello"), await speak("a", "hello"), await speak("b", "hello")]).toEqual([
    true,
    false,
    true,
  ]);
  await pool.close();
});

it("keeps fewer conversations in memory when they are long", async () => {
  const { pool, speak } = openPool({ count: 64, bytes: 150_000 });
  expect([await speak("a", LONG), await speak("b", "hello"), await speak("a", "hello")]).toEqual([true, true, false]);
  // Two long ones are above the limit: the one that was used longest ago is read from its file again.
  expect([await speak("c", LONG), await speak("c", "hello"), await speak("a", "hello")]).toEqual([true, false, true]);
  await pool.close();
});
