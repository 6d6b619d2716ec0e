import { join } from "node:path";

/** All programs of all tests share it: one that is killed early writes nothing, but reads what others compiled. */
export const COMPILED = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, "../../../node_modules/.cache/openclaw-compiled"),
};
