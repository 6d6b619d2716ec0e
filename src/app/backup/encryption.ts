import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import { OpenClawError } from "../../types/errors.ts";
import { isMissing } from "../../utils/missing.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { unsound } from "./archive.ts";
import { removeLeft } from "./leftovers.ts";

/** For whom a backup is encrypted: public keys (`age1…`), or a passphrase. */
export type EncryptFor = { readonly recipients: readonly string[] } | { readonly passphrase: string };

/** What opens an encrypted backup. `identities`: path of a file with secret keys (`AGE-SECRET-KEY-1…`); `secret`: one itself. */
export interface Keys {
  readonly identities?: string | undefined;
  readonly secret?: string | undefined;
  readonly passphrase?: string | undefined;
}

/** The ending of an encrypted backup, whose format is that of age (https://age-encryption.org/v1). */
export const ENCRYPTED = ".age";

const START = "age-encryption.org/v1";

/** Ends the bytes encrypted in `file` (0600). They are read once all keys are known to be good. Throws USAGE for a key that is none. */
export async function writeEncrypted(file: string, bytes: () => Readable, to: EncryptFor): Promise<void> {
  const encrypter = await encrypterFor(to);
  // Chunks of a stream of bytes are bytes; the type of `from` does not say so.
  const encrypted = await encrypter.encrypt(ReadableStream.from(bytes()) as ReadableStream<Uint8Array>);
  await pipeline(readableOf(encrypted), createWriteStream(file, { mode: 0o600, flags: "wx" }));
}

/** Throws USAGE for a public key that is none. */
export async function checkRecipients(recipients: readonly string[]): Promise<void> {
  if (recipients.length > 0) await encrypterFor({ recipients });
}

/** The library is loaded for the first encrypted backup. */
async function encrypterFor(to: EncryptFor) {
  const { Encrypter } = await import("age-encryption");
  const encrypter = new Encrypter();
  if ("passphrase" in to) {
    encrypter.setPassphrase(to.passphrase);
    return encrypter;
  }
  for (const recipient of to.recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch (cause) {
      throw new OpenClawError("USAGE", {
        message: `${recipient.slice(0, 100)} is no public key of age.`,
        fix: "Make a pair of keys with `openclaw backup key --output <file>`, and name the public one (age1…).",
        cause,
      });
    }
  }
  return encrypter;
}

/** Whether a file is an encrypted backup, whatever its name. */
export async function isEncrypted(file: string): Promise<boolean> {
  const handle = await open(file, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(START.length), 0, START.length, 0);
    return buffer.toString("latin1", 0, bytesRead) === START;
  } finally {
    await handle.close();
  }
}

/**
 * Runs `work` with the archive itself: the file, or a decrypted copy that only this user can read and that is removed afterwards. Throws
 * BACKUP_LOCKED when the keys do not open it, BACKUP_UNSOUND when it is cut or damaged, and NOT_FOUND when there is none.
 */
export async function withArchive<T>(file: string, keys: Keys, work: (archive: string) => Promise<T>): Promise<T> {
  if (!(await isFile(file)) || !(await isEncrypted(file))) return work(file);
  await removeLeft(tmpdir(), PREFIX);
  const dir = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  try {
    const archive = join(dir, "backup.tar.gz");
    await decrypt(file, archive, keys);
    return await work(archive);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const PREFIX = "openclaw-decrypted-";

async function isFile(file: string): Promise<boolean> {
  try {
    const facts = await stat(file);
    if (facts.isDirectory()) throw unsound(file, ["it is a directory"]);
    return facts.isFile();
  } catch (error) {
    if (isMissing(error))
      throw new OpenClawError("NOT_FOUND", {
        message: `There is no file ${file}.`,
        fix: "Name a file that `openclaw backup create` has written.",
        cause: error,
      });
    if (error instanceof OpenClawError) throw error;
    // What cannot be looked at is left to the reader of the archive, whose error has the reason.
    return false;
  }
}

async function decrypt(file: string, archive: string, keys: Keys): Promise<void> {
  const decrypter = await decrypterWith(file, keys);
  try {
    // A file without an encoding is read as bytes; the type of `toWeb` does not say so.
    const bytes = Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>;
    const plain = await decrypter.decrypt(bytes);
    await pipeline(readableOf(plain), createWriteStream(archive, { mode: 0o600, flags: "wx" }));
  } catch (error) {
    if (error instanceof Error && "code" in error && typeof error.code === "string" && error.code.startsWith("E"))
      throw error;
    const text = errorText(error);
    if (NO_KEY_FITS.test(text)) throw locked(`${file} was encrypted with ${othersThan(keys)}.`, error);
    throw unsound(file, [`it is cut or damaged (${text})`], error);
  }
}

/** What a backup was encrypted with that no given key opens. */
function othersThan({ identities, passphrase }: Keys): string {
  if (identities === undefined) return "another passphrase, or a key";
  const key = `another key than those of ${identities}`;
  return passphrase === undefined ? key : `${key}, or another passphrase`;
}

/** The one message of the library about a file that is whole. */
const NO_KEY_FITS = /no identity matched/;

async function decrypterWith(file: string, { identities, secret, passphrase }: Keys) {
  const { Decrypter } = await import("age-encryption");
  const decrypter = new Decrypter();
  if (passphrase !== undefined) decrypter.addPassphrase(passphrase);
  if (secret !== undefined) decrypter.addIdentity(secret);
  for (const identity of identities === undefined ? [] : await identitiesIn(identities))
    try {
      decrypter.addIdentity(identity);
    } catch (cause) {
      throw locked(`A line of ${identities} is no secret key of age.`, cause);
    }
  if (passphrase === undefined && identities === undefined && secret === undefined)
    throw locked(`${file} is encrypted.`);
  return decrypter;
}

/** The secret keys of a file. Its other lines are comments, as `age-keygen` writes them. */
async function identitiesIn(path: string): Promise<readonly string[]> {
  try {
    const lines = (await readFile(path, "utf8")).split("\n").map((line) => line.trim());
    return lines.filter((line) => line !== "" && !line.startsWith("#"));
  } catch (cause) {
    throw locked(`${path} cannot be read.`, cause);
  }
}

const locked = (message: string, cause?: unknown): OpenClawError =>
  new OpenClawError("BACKUP_LOCKED", {
    message,
    fix: "Name the file with the secret key, --identity <file>, or put the passphrase into OPENCLAW_BACKUP_PASSPHRASE.",
    cause,
  });

// The types of the platform's streams and of Node's are two, and the objects are the same.
const readableOf = (stream: ReadableStream<Uint8Array>): Readable => Readable.fromWeb(stream as WebStream<Uint8Array>);

/** A new pair of keys: the secret one to keep, the public one for the gateway. */
export async function newKeyPair(): Promise<{ readonly secret: string; readonly recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import("age-encryption");
  const secret = await generateX25519Identity();
  return { secret, recipient: await identityToRecipient(secret) };
}
