/** A reader's reports of a body. */
export interface BodySink {
  /** A piece that is about to be handed on, decoded. */
  read(piece: Uint8Array): void;
  readToEnd(): void;
}

/**
 * Lines that a reader is given before timers, sockets and whoever takes the events have their turn. The SDKs copy the rest
 * of a piece for every line in it: the time for a piece grows with the square of its lines.
 */
const LINES_AT_ONCE = 64;
const NEW_LINE = 0x0a;

/**
 * The same answer, whose body is decoded and sent only as fast as it is read and counted: a compressed body may be a
 * thousand times as large as what was sent, and reading all of it at once would fill the memory and stop everything else.
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
  // A new answer has no address.
  Object.defineProperty(copy, "url", { value: answer.url });
  return copy;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Cuts after a line wherever a piece would have too many. */
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
