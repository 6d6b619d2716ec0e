/** Loads the agent SDK ahead of the first run, so that it does not wait for it. */
export async function warmAgent(): Promise<void> {
  await import("@mariozechner/pi-agent-core");
}
