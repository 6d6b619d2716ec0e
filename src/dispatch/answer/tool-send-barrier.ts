/** Text streamed before a tool call is queued before anything the tool sends, so messages keep their order. */
export class ToolSendBarrier {
  readonly #calls = new Map<string, ReturnType<typeof Promise.withResolvers<void>>>();

  /** Resolves when all text before the call is planned. */
  wait(callId: string): Promise<void> {
    return this.#of(callId).promise;
  }

  /** Called when all text before the call is planned. */
  release(callId: string): void {
    this.#of(callId).resolve();
  }

  #of(callId: string) {
    const known = this.#calls.get(callId) ?? Promise.withResolvers<void>();
    this.#calls.set(callId, known);
    return known;
  }
}
