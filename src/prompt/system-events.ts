const NOISE = [/^read heartbeat\.md/i, /heartbeat poll/i, /reason periodic/i];

/** True for the heartbeat's own events, which the model does not get. */
export function isHeartbeatNoise(text: string): boolean {
  const trimmed = text.trim();
  return NOISE.some((pattern) => pattern.test(trimmed));
}
