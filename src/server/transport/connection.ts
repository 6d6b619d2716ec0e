import type { Caller } from "../../types/method.ts";
import { encodeEvent, frameOf, mergeDeltas, type EncodedEvent } from "../deltas.ts";
import { encodeAnswer, CONNECTION_POLICY, type FrameAnswer } from "./frames.ts";

/** The part of a `ws` socket that a connection uses. */
export interface FrameSocket {
  readonly bufferedAmount: number;
  /** Calls `sent` when the text has left this process or sending failed. */
  send(text: string, sent: () => void): void;
  /** The other side sends the text back once it has read everything before it. */
  ping(text: string): void;
  close(code: number, reason: string): void;
}

export interface BufferLimits {
  /** Buffered bytes above which deltas are merged instead of sent. */
  readonly mergeAbove: number;
  /** Buffered bytes above which the connection is closed. */
  readonly closeAbove: number;
}

const LIMITS: BufferLimits = { mergeAbove: 1_048_576, closeAbove: CONNECTION_POLICY.maxBufferedBytes };

/** The outgoing side of one client. A slow client costs at most `closeAbove` bytes and does not delay others. */
export class ClientConnection {
  readonly id: string;
  readonly since: number;
  /** Set by the handshake. */
  caller: Caller | undefined;
  readonly #socket: FrameSocket;
  readonly #limits: BufferLimits;
  #waiting: EncodedEvent[] = [];
  #waitingBytes = 0;
  #seq = 0;
  /** Requests whose answers go before the events. */
  #answering = 0;
  #isClosed = false;
  /** What waits for the answer to a ping, oldest first. */
  readonly #unread = new Map<string, () => void>();
  #pings = 0;
  readonly #gone = new AbortController();

  constructor(id: string, socket: FrameSocket, since: number, limits: BufferLimits = LIMITS) {
    this.id = id;
    this.since = since;
    this.#socket = socket;
    this.#limits = limits;
  }

  /** Aborts when the client has left. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  leave(): void {
    this.#gone.abort();
    for (const call of this.#unread.values()) call();
    this.#unread.clear();
  }

  answer(id: string, answer: FrameAnswer): void {
    this.#send(encodeAnswer(id, answer));
  }

  /**
   * Keeps events back until the returned function is called: a client knows the events of its request by the answer, so the
   * answer comes first. Further calls of the function do nothing.
   */
  answerFirst(): () => void {
    this.#answering += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#answering -= 1;
      this.#drain();
    };
  }

  /**
   * Calls back when the client has read what was sent until now. Some clients take in everything that one read of the
   * socket brings before they go on with a request: for them an event that comes with its answer comes too early.
   */
  whenRead(call: () => void): void {
    if (this.#isClosed) return call();
    this.#pings += 1;
    this.#unread.set(String(this.#pings), call);
    this.#socket.ping(String(this.#pings));
  }

  /** Takes the client's answer to a ping. */
  pong(text: string): void {
    if (!this.#unread.has(text)) return;
    for (const [ping, call] of this.#unread) {
      this.#unread.delete(ping);
      call();
      if (ping === text) return;
    }
  }

  /** Sends the challenge, which has no `seq`, like every event before the handshake. */
  challenge(nonce: string, ts: number): void {
    this.#send(`${encodeEvent({ event: "connect.challenge", payload: { nonce, ts } }).head}}`);
  }

  publish(encoded: EncodedEvent): void {
    if (this.#isClosed) return;
    if (this.#waiting.length === 0 && this.#isFree()) this.#sendNumbered(encoded);
    else this.#wait(encoded);
  }

  close(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#waiting = [];
    this.#socket.close(code, reason);
  }

  #wait(encoded: EncodedEvent): void {
    const at =
      encoded.mergeKey === undefined ? -1 : this.#waiting.findIndex((item) => item.mergeKey === encoded.mergeKey);
    const earlier = this.#waiting[at];
    if (earlier !== undefined) {
      this.#waiting.splice(at, 1);
      this.#waitingBytes -= earlier.head.length;
    }
    const item = earlier === undefined ? encoded : mergeDeltas(earlier, encoded);
    this.#waiting.push(item);
    this.#waitingBytes += item.head.length;
    this.#guard();
  }

  #isFree(): boolean {
    return this.#answering === 0 && this.#socket.bufferedAmount <= this.#limits.mergeAbove;
  }

  #drain(): void {
    while (this.#isFree()) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#waitingBytes -= next.head.length;
      this.#sendNumbered(next);
    }
  }

  // The number is given on sending, so that a merged event leaves no gap.
  #sendNumbered(encoded: EncodedEvent): void {
    this.#seq += 1;
    this.#send(frameOf(encoded, this.#seq));
  }

  #send(text: string): void {
    if (this.#isClosed) return;
    this.#socket.send(text, () => this.#drain());
    this.#guard();
  }

  #guard(): void {
    if (this.#socket.bufferedAmount + this.#waitingBytes > this.#limits.closeAbove) this.close(1008, "slow consumer");
  }
}
