/** Seconds of a tone, as a WAV file. */
export function tone(seconds = 1): Buffer {
  const rate = 8000;
  const count = rate * seconds;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + count * 2, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(count * 2, 40);
  const samples = Buffer.alloc(count * 2);
  for (let at = 0; at < count; at += 1) samples.writeInt16LE(Math.round(9000 * Math.sin(at / 3)), at * 2);
  return Buffer.concat([head, samples]);
}
