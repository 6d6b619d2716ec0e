import { afterEach, describe, expect, test } from "vitest";
import { contextEngineContract as suite } from "../../testing/context-engine.ts";

/** The exported suite of context engines, with this project's Vitest. */
export const contextEngineContract = (engine: Parameters<typeof suite>[1]): void =>
  suite({ afterEach, describe, expect, test }, engine);
