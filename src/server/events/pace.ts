const DELTA_EVERY_MS = 50;
/** Each delta carries the whole text, so without longer pauses the bytes would grow with its square. */
const CHARACTERS_PER_MS = 200;

/** Milliseconds between the deltas of a text: more than 50 from 10,000 characters on. */
export const deltaEveryMs = (length: number): number => Math.max(DELTA_EVERY_MS, length / CHARACTERS_PER_MS);
