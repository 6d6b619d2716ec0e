import { randomInt } from "node:crypto";
import type { Clock } from "../../types/clock.ts";
import type { Admitted, Paired, PairingRequest, TurnedAway } from "../../types/answers/pairing.ts";
import type { PairingDesk } from "../../types/journal.ts";
import { count, text, textOr } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";
import type { Row, Statements } from "../database/sqlite.ts";

// Characters without 0, O, 1 and I, which people confuse.
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LENGTH = 8;
const HOUR_MS = 3_600_000;
const MAX_PENDING = 3;
/** Milliseconds after which another stranger's code may replace a code, so that the operator has time to use it. */
const YIELDS_AFTER_MS = 600_000;
/** How many strangers without a code are remembered for each account, and for how long. */
const MAX_TURNED_AWAY = 50;
const REMEMBER_MS = 24 * HOUR_MS;

const EXPIRE = "DELETE FROM pairing WHERE expires_at <= ?";
const FORGET = "DELETE FROM turned_away WHERE last_at <= ?";
const OF_SENDER = "SELECT * FROM pairing WHERE channel = ? AND account = ? AND sender_id = ?";
const PENDING = "SELECT * FROM pairing WHERE channel = ? AND account = ? ORDER BY created_at";
const INSERT = `
  INSERT INTO pairing (channel, account, sender_id, name, code, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const OF_CODE = "SELECT * FROM pairing WHERE channel = ? AND code = ?";
const WAITS = `
  SELECT channel, account, sender_id, name FROM pairing WHERE channel = ?1 AND sender_id = ?2
  UNION SELECT channel, account, sender_id, name FROM turned_away WHERE channel = ?1 AND sender_id = ?2`;
const LET_IN = "INSERT OR IGNORE INTO paired (channel, account, sender_id, name, at) VALUES (?, ?, ?, ?, ?)";
const IS_PAIRED = "SELECT 1 AS yes FROM paired WHERE channel = ? AND account = ? AND sender_id = ?";
const OF_PERSON = "SELECT * FROM paired WHERE channel = ? AND sender_id = ?";
const PUT_OUT = "DELETE FROM paired WHERE channel = ? AND account = ? AND sender_id = ?";
const TURN_AWAY = `
  INSERT INTO turned_away (channel, account, sender_id, name, had_code, first_at, last_at) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET name = excluded.name, had_code = max(had_code, excluded.had_code), last_at = excluded.last_at`;
const HAD_CODE = `
  SELECT 1 AS yes FROM turned_away WHERE channel = ? AND account = ? AND sender_id = ? AND had_code > max(0, ?)`;
const TRIM = `
  DELETE FROM turned_away WHERE channel = ?1 AND account = ?2 AND sender_id NOT IN (
    SELECT sender_id FROM turned_away WHERE channel = ?1 AND account = ?2 ORDER BY last_at DESC LIMIT ${MAX_TURNED_AWAY})`;
const SERVED = "DELETE FROM turned_away WHERE channel = ? AND account = ? AND sender_id = ?";

type Stranger = Parameters<PairingDesk["request"]>[0];
type Asked = Awaited<ReturnType<PairingDesk["request"]>>;

export function createPairing(commits: Commits, clock: Clock): PairingDesk {
  return {
    request: (from) => commits.write((sql) => requestCode(sql, from, clock.now())),
    list: () =>
      commits.read((sql) =>
        sql.all("SELECT * FROM pairing WHERE expires_at > ? ORDER BY created_at", clock.now()).map(toRequest),
      ),
    turnedAway: () =>
      commits.read((sql) =>
        sql
          .all("SELECT * FROM turned_away WHERE last_at > ? ORDER BY last_at DESC", clock.now() - REMEMBER_MS)
          .filter(
            (row) =>
              sql.one(OF_SENDER, text(row, "channel"), text(row, "account"), text(row, "sender_id")) === undefined,
          )
          .map(toTurnedAway),
      ),
    approve: (channel, codeOrSender, account) =>
      commits.write((sql) => approve(sql, { channel, codeOrSender: codeOrSender.trim(), account }, clock.now())),
    dismiss: ({ channel, account, code }) =>
      commits.write((sql) => {
        const row = sql.one(OF_CODE, channel, code);
        if (row === undefined || text(row, "account") !== account) return false;
        sql.run("DELETE FROM pairing WHERE code = ?", code);
        return true;
      }),
    admitted: () => commits.read((sql) => sql.all("SELECT * FROM paired ORDER BY at DESC").map(toAdmitted)),
    reject: (channel, codeOrSender, account) =>
      commits.write((sql) => {
        const stranger = meant(sql, { channel, codeOrSender: codeOrSender.trim(), account }, clock.now());
        if (stranger) forgetRequest(sql, stranger);
        return stranger;
      }),
    revoke: (channel, senderId, account) =>
      commits.write((sql) => {
        const rows = sql.all(OF_PERSON, channel, senderId).map(toAdmitted);
        const revoked = rows.filter((row) => account === undefined || row.account === account);
        for (const row of revoked) sql.run(PUT_OUT, channel, row.account, senderId);
        return revoked;
      }),
    isPaired: (channel, account, senderId) =>
      commits.readAhead((sql) => sql.one(IS_PAIRED, channel, account, senderId) !== undefined),
    admit: (people) =>
      commits.write((sql) => {
        for (const person of people) letIn(sql, person, clock.now());
      }),
  };
}

function requestCode(sql: Statements, from: Stranger, now: number): Asked {
  const { channel, account, senderId } = from;
  sql.run(EXPIRE, now);
  sql.run(FORGET, now - REMEMBER_MS);
  const known = sql.one(OF_SENDER, channel, account, senderId);
  if (known) return { kind: "again", request: toRequest(known) };
  const pending = sql.all(PENDING, channel, account).map(toRequest);
  if (pending.length < MAX_PENDING) return { kind: "new", request: giveCode(sql, from, now) };
  const [oldest] = pending;
  const mayReplace = sql.one(HAD_CODE, channel, account, senderId, now - HOUR_MS) === undefined;
  if (oldest === undefined || oldest.createdAt > now - YIELDS_AFTER_MS || !mayReplace) {
    turnAway(sql, from, { now, hadCode: 0 });
    return { kind: "full" };
  }
  sql.run("DELETE FROM pairing WHERE code = ?", oldest.code);
  // A sender whose code was replaced may not replace another's for an hour. Otherwise a few accounts could take the codes in
  // turn.
  turnAway(sql, oldest, { now, hadCode: now });
  return { kind: "new", request: giveCode(sql, from, now) };
}

function giveCode(sql: Statements, from: Stranger, now: number): PairingRequest {
  const { channel, account, senderId, name } = from;
  const request: PairingRequest = { ...from, code: freshCode(sql), createdAt: now, expiresAt: now + HOUR_MS };
  sql.run(INSERT, channel, account, senderId, name ?? null, request.code, request.createdAt, request.expiresAt);
  return request;
}

/** `hadCode`: when the stranger's code was replaced; 0 for never. */
function turnAway(sql: Statements, from: Stranger, { now, hadCode }: { now: number; hadCode: number }): void {
  const { channel, account, senderId, name } = from;
  sql.run(TURN_AWAY, channel, account, senderId, name ?? null, hadCode, now, now);
  sql.run(TRIM, channel, account);
}

interface Asking {
  readonly channel: string;
  readonly codeOrSender: string;
  readonly account: string | undefined;
}

function approve(sql: Statements, asking: Asking, now: number): Paired | undefined {
  const stranger = meant(sql, asking, now);
  return stranger && letIn(sql, stranger, now);
}

/** Who has the code, or the only one who waits under the id. */
function meant(sql: Statements, { channel, codeOrSender, account }: Asking, now: number): Paired | undefined {
  sql.run(EXPIRE, now);
  sql.run(FORGET, now - REMEMBER_MS);
  const isMeant = (row: Row) => account === undefined || text(row, "account") === account;
  const ofCode = sql.one(OF_CODE, channel, codeOrSender.toUpperCase());
  if (ofCode) return isMeant(ofCode) ? toRequest(ofCode) : undefined;
  const [waits, ...others] = sql.all(WAITS, channel, codeOrSender).filter(isMeant);
  return waits && others.length === 0 ? toPerson(waits) : undefined;
}

function letIn<T extends Stranger>(sql: Statements, stranger: T, now: number): T {
  const { channel, account, senderId, name } = stranger;
  sql.run(LET_IN, channel, account, senderId, name ?? null, now);
  forgetRequest(sql, stranger);
  return stranger;
}

function forgetRequest(sql: Statements, { channel, account, senderId }: Stranger): void {
  sql.run("DELETE FROM pairing WHERE channel = ? AND account = ? AND sender_id = ?", channel, account, senderId);
  sql.run(SERVED, channel, account, senderId);
}

function freshCode(sql: Statements): string {
  for (;;) {
    const code = Array.from({ length: CODE_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");
    if (!sql.one("SELECT 1 AS yes FROM pairing WHERE code = ?", code)) return code;
  }
}

function toRequest(row: Row): PairingRequest {
  return {
    ...toPerson(row),
    code: text(row, "code"),
    createdAt: count(row, "created_at"),
    expiresAt: count(row, "expires_at"),
  };
}

const toTurnedAway = (row: Row): TurnedAway => ({
  ...toPerson(row),
  firstAt: count(row, "first_at"),
  lastAt: count(row, "last_at"),
});

const toAdmitted = (row: Row): Admitted => ({ ...toPerson(row), at: count(row, "at") });

function toPerson(row: Row): Stranger {
  const name = textOr(row, "name");
  return {
    channel: text(row, "channel"),
    account: text(row, "account"),
    senderId: text(row, "sender_id"),
    ...(name === undefined ? {} : { name }),
  };
}
