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

/**
 * The same answer, but its body is decoded and passed on only as fast as it is read and counted. A compressed body may become a
 * thousand times as large; reading it at once would fill the memory and block the process.
 */
export function withPacedBody(answer: Response, sink: BodySink): Response {
  if (answer.body === null) return answer;
  const pace = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>(
    {
      async transform(body, out) {
        for (const piece of piecesOf(body)) {
          sink.read(piece);
          out.enqueue(piece);
          await nextTurn();
        }
      },
      flush: () => sink.readToEnd(),
    },
    { highWaterMark: 1 },
    { highWaterMark: 0 },
  );
  const copy = new Response(answer.body.pipeThrough(pace), answer);
  // A `Response` made here has no address.
  Object.defineProperty(copy, "url", { value: answer.url });
  return copy;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Cuts after a line, wherever a piece would have too many lines. */
function* piecesOf<Bytes extends Uint8Array>(body: Bytes): Generator<Uint8Array<Bytes["buffer"]>> {
  let [start, lines] = [0, 0];
  for (let at = body.indexOf(NEW_LINE); at >= 0; at = body.indexOf(NEW_LINE, at + 1)) {
    lines += 1;
    if (lines < LINES_AT_ONCE) continue;
    yield body.subarray(start, at + 1);
    [start, lines] = [at + 1, 0];
  }
  if (start < body.length) yield body.subarray(start);
}
