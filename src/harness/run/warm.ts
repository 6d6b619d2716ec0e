/** Loads the agent SDK before the first run, which would otherwise wait for it. */
export async function warmAgent(): Promise<void> {
  await import("@mariozechner/pi-agent-core");
}
