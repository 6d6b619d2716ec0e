/** Text streamed before a tool call is queued before anything the tool sends, so messages keep their order. */
export class ToolSendBarrier {
  readonly #said = new Map<string, ReturnType<typeof Promise.withResolvers<void>>>();

  /** Resolves when all words before the call are planned. */
  wait(callId: string): Promise<void> {
    return this.#of(callId).promise;
  }

  said(callId: string): void {
    this.#of(callId).resolve();
  }

  #of(callId: string) {
    const known = this.#said.get(callId) ?? Promise.withResolvers<void>();
    this.#said.set(callId, known);
    return known;
  }
}
