import { randomInt } from "node:crypto";
import type { Clock } from "../types/clock.ts";
import type { PairingDesk, PairingRequest } from "../types/journal.ts";
import { count, text, textOr } from "./columns.ts";
import type { Commits } from "./commits.ts";
import type { Row, Statements } from "./sqlite.ts";

// Without 0, O, 1 and I, which people mix up.
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LENGTH = 8;
const HOUR_MS = 3_600_000;
const MAX_PENDING = 3;

const EXPIRE = "DELETE FROM pairing WHERE expires_at <= ?";
const OF_SENDER = "SELECT * FROM pairing WHERE channel = ? AND account = ? AND sender_id = ?";
const WAITING = "SELECT count(*) AS n FROM pairing WHERE channel = ? AND account = ?";
const INSERT = `
  INSERT INTO pairing (channel, account, sender_id, name, code, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const OF_CODE = "SELECT * FROM pairing WHERE channel = ? AND code = ?";
const LET_IN = "INSERT OR IGNORE INTO paired (channel, account, sender_id, name, at) VALUES (?, ?, ?, ?, ?)";
const IS_PAIRED = "SELECT 1 AS yes FROM paired WHERE channel = ? AND account = ? AND sender_id = ?";

type Stranger = Parameters<PairingDesk["request"]>[0];

export function createPairing(commits: Commits, clock: Clock): PairingDesk {
  return {
    request: (from) => commits.write((sql) => requestCode(sql, from, clock.now())),
    list: () =>
      commits.read((sql) =>
        sql.all("SELECT * FROM pairing WHERE expires_at > ? ORDER BY created_at", clock.now()).map(toRequest),
      ),
    approve: (channel, code) => commits.write((sql) => approveCode(sql, { channel, code }, clock.now())),
    isPaired: (channel, account, senderId) =>
      commits.read((sql) => sql.one(IS_PAIRED, channel, account, senderId) !== undefined),
  };
}

function requestCode(sql: Statements, from: Stranger, now: number): Awaited<ReturnType<PairingDesk["request"]>> {
  const { channel, account, senderId, name } = from;
  sql.run(EXPIRE, now);
  const known = sql.one(OF_SENDER, channel, account, senderId);
  if (known) return { kind: "again", request: toRequest(known) };
  if (count(sql.one(WAITING, channel, account), "n") >= MAX_PENDING) return { kind: "full" };
  const request: PairingRequest = { ...from, code: freshCode(sql), createdAt: now, expiresAt: now + HOUR_MS };
  sql.run(INSERT, channel, account, senderId, name ?? null, request.code, request.createdAt, request.expiresAt);
  return { kind: "new", request };
}

function approveCode(
  sql: Statements,
  asked: { channel: string; code: string },
  now: number,
): PairingRequest | undefined {
  sql.run(EXPIRE, now);
  const row = sql.one(OF_CODE, asked.channel, asked.code.trim().toUpperCase());
  if (!row) return undefined;
  const request = toRequest(row);
  sql.run(LET_IN, request.channel, request.account, request.senderId, request.name ?? null, now);
  sql.run("DELETE FROM pairing WHERE code = ?", request.code);
  return request;
}

function freshCode(sql: Statements): string {
  for (;;) {
    const code = Array.from({ length: CODE_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");
    if (!sql.one("SELECT 1 AS yes FROM pairing WHERE code = ?", code)) return code;
  }
}

function toRequest(row: Row): PairingRequest {
  const name = textOr(row, "name");
  return {
    channel: text(row, "channel"),
    account: text(row, "account"),
    senderId: text(row, "sender_id"),
    code: text(row, "code"),
    createdAt: count(row, "created_at"),
    expiresAt: count(row, "expires_at"),
    ...(name === undefined ? {} : { name }),
  };
}
