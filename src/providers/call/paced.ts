/** Called while a body is read. */
export interface BodySink {
  /** Called with each decoded piece before it is passed on. */
  read(piece: Uint8Array): void;
  readToEnd(): void;
}

/**
 * Lines that a reader gets before timers, sockets and the reader of the events get their turn. For every line the SDKs copy the
 * rest of the piece, so the time for a piece grows with the square of its lines.
 */
const LINES_AT_ONCE = 64;
const NEW_LINE = 0x0a;

/** Short pieces that a reader gets before timers and sockets get their turn. */
const PIECES_AT_ONCE = 16;

/**
 * The same answer, but its body is passed on only as fast as it is read and counted. A compressed body may become a thousand
 * times as large; reading it at once would fill the memory and block the process.
 */
export function withPacedBody(answer: Response, sink: BodySink): Response {
  if (answer.body === null) return answer;
  const copy = new Response(pacedBody(answer.body.getReader(), sink), answer);
  // A `Response` made here has no address.
  Object.defineProperty(copy, "url", { value: answer.url });
  return copy;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** One stream with nothing read ahead: a transform stream would be three, for each of which every piece costs time. */
function pacedBody(reader: ReadableStreamDefaultReader<Bytes>, sink: BodySink): ReadableStream<Bytes> {
  const pieces = new Pieces(reader);
  return new ReadableStream<Bytes>(
    {
      async pull(out) {
        const piece = await pieces.next();
        if (piece) {
          sink.read(piece);
          out.enqueue(piece);
        } else {
          sink.readToEnd();
          out.close();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** What a reader gives, cut into pieces, with pauses. */
class Pieces {
  readonly #reader: ReadableStreamDefaultReader<Bytes>;
  #left: Iterator<Bytes> = [][Symbol.iterator]();
  #sincePause = 0;

  constructor(reader: ReadableStreamDefaultReader<Bytes>) {
    this.#reader = reader;
  }

  /** Undefined at the end. Rejects as the reader does. */
  async next(): Promise<Bytes | undefined> {
    const cut = this.#left.next();
    if (cut.done !== true) {
      await this.#pause();
      return cut.value;
    }
    if (this.#sincePause >= PIECES_AT_ONCE) await this.#pause();
    const { value } = await this.#reader.read();
    if (!value) return undefined;
    this.#sincePause += 1;
    this.#left = piecesOf(value);
    const first = this.#left.next();
    // An empty body part has no pieces.
    return first.done === true ? value : first.value;
  }

  #pause(): Promise<void> {
    this.#sincePause = 0;
    return nextTurn();
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Cuts after a line, wherever a piece would have too many lines. */
function* piecesOf(body: Bytes): Generator<Bytes> {
  let [start, lines] = [0, 0];
  for (let at = body.indexOf(NEW_LINE); at >= 0; at = body.indexOf(NEW_LINE, at + 1)) {
    lines += 1;
    if (lines < LINES_AT_ONCE) continue;
    yield body.subarray(start, at + 1);
    [start, lines] = [at + 1, 0];
  }
  if (start < body.length) yield body.subarray(start);
}
