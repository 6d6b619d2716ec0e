import type { SessionWindow, TranscriptEntry } from "../../types/session.ts";
import type { Conversation } from "../request.ts";

/** A conversation that changes some of the entries that another conversation reads or writes. */
export abstract class WrappedConversation implements Conversation {
  protected readonly inner: Conversation;

  constructor(inner: Conversation) {
    this.inner = inner;
  }

  get leafId(): string | null {
    return this.inner.leafId;
  }

  get file(): string | undefined {
    return this.inner.file;
  }

  window(maxTokens: number): Promise<SessionWindow> {
    return this.inner.window(maxTokens);
  }

  after(entryId: string): Promise<readonly TranscriptEntry[] | undefined> {
    return this.inner.after(entryId);
  }

  append(...args: Parameters<Conversation["append"]>): Promise<string> {
    return this.inner.append(...args);
  }
}
