const NOISE = [/^read heartbeat\.md/i, /heartbeat poll/i, /reason periodic/i];

/** True for what the heartbeat says to itself; the model is not told. */
export function isHeartbeatNoise(text: string): boolean {
  const trimmed = text.trim();
  return NOISE.some((pattern) => pattern.test(trimmed));
}
