import type { MediaItem } from "../../types/chat/message.ts";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import { passMark } from "../../sessions/pass-mark.ts";
import type { RunId, SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Session, SessionNote } from "../../types/session.ts";
import type { DispatchPorts } from "../ports.ts";
import { abandonTurn } from "./unanswered-turns.ts";
import { turnIdOf } from "../turn-facts.ts";

type NotePorts = Pick<DispatchPorts, "storage" | "kinds" | "log">;

/** The answer to a command, and its files. */
interface NoteData {
  readonly text: string;
  readonly said: string;
  readonly runId: RunId;
  readonly media?: readonly MediaItem[];
}

/**
 * Writes into the transcripts of sessions that a run may hold. Each call returns at once; the note is written as soon
 * as the session is free, and a failure is logged.
 */
export class TranscriptNotes {
  readonly #ports: NotePorts;
  readonly #pending = new Set<Promise<void>>();

  constructor(ports: NotePorts) {
    this.#ports = ports;
  }

  /** Adds a text that people see and the model does not see, such as the answer to a command. */
  notice(key: SessionKey, data: NoteData): void {
    this.#write(key, async (session) => void (await session.append({ type: "custom", customType: NOTICE_TYPE, data })));
  }

  /** Adds a text that people see and the model does not see, and that answers nothing. */
  line(key: SessionKey, text: string): void {
    const data = { text };
    this.#write(key, async (session) => void (await session.append({ type: "custom", customType: NOTICE_TYPE, data })));
  }

  /** Adds a text that the model sees: a message that another conversation sent to this session's chat. */
  sentFromOther(key: SessionKey, note: SessionNote): void {
    this.#write(key, async (session) => {
      await session.append({ type: "custom_message", ...note, display: false });
    });
  }

  /**
   * Adds a text as `sentFromOther` does, from a conversation that may have read untrusted content: the mark of that
   * conversation is passed on to this session.
   */
  sentFrom(from: SessionKey, key: SessionKey, note: SessionNote): void {
    this.#write(key, async (session) => {
      await session.append({ type: "custom_message", ...note, display: false });
      await passMark(from, key, this.#ports.storage.sessions);
    });
  }

  /** Removes a turn that is given up from the conversation, unless the transcript always keeps turns of its kind. */
  abandonTurn({ message, sessionKey: key, ...row }: InboxRow): void {
    const { transcript, name } = this.#ports.kinds.of(message);
    if (key === undefined || transcript === "always") return;
    const id = turnIdOf({ message, sessionKey: key, ...row });
    this.#write(key, (session) => abandonTurn(session, id, this.#ports.log, `${name} not run`));
  }

  /** Resolves when all notes are written. Never rejects. */
  async settle(): Promise<void> {
    await Promise.all(this.#pending);
  }

  #write(key: SessionKey, write: (session: Session) => Promise<void>): void {
    const pending = this.#withSession(key, write)
      .catch((error: unknown) => this.#ports.log.warn("notice not kept", { session: key, error }))
      .finally(() => this.#pending.delete(pending));
    this.#pending.add(pending);
  }

  async #withSession(key: SessionKey, write: (session: Session) => Promise<void>): Promise<void> {
    const session = await this.#ports.storage.sessions.acquire(key);
    await write(session).finally(() => session.release());
  }
}
