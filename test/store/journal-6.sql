CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('accepted', 'claimed', 'done')),
    session_key TEXT,
    run_id TEXT,
    turn_id TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    claimed_boot TEXT,
    outcome TEXT,
    done_at INTEGER
  , accepted_at INTEGER, claimed_at INTEGER, refused TEXT, again_of INTEGER);
CREATE INDEX inbox_open ON inbox (id) WHERE state <> 'done';
CREATE INDEX inbox_done ON inbox (done_at) WHERE state = 'done';
CREATE TABLE seen (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    event_key TEXT NOT NULL,
    inbox_id INTEGER NOT NULL,
    at INTEGER NOT NULL, times INTEGER NOT NULL DEFAULT 1, last_at INTEGER,
    PRIMARY KEY (channel, account, event_key)
  ) WITHOUT ROWID;
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    reply_key TEXT NOT NULL,
    part INTEGER NOT NULL,
    inbox_id INTEGER,
    target TEXT NOT NULL,
    body TEXT NOT NULL,
    reply_to TEXT,
    buttons TEXT,
    state TEXT NOT NULL CHECK (state IN ('planned', 'sending', 'sent', 'unknown', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    message_id TEXT,
    edit_of TEXT,
    error TEXT,
    created_at INTEGER NOT NULL, sent_at INTEGER, retried_at INTEGER, was_unknown INTEGER NOT NULL DEFAULT 0, is_repeat INTEGER NOT NULL DEFAULT 0, silent INTEGER NOT NULL DEFAULT 0, gap TEXT,
    UNIQUE (reply_key, part)
  );
CREATE INDEX outbox_open ON outbox (id) WHERE state IN ('planned', 'sending', 'unknown');
CREATE INDEX outbox_of ON outbox (inbox_id) WHERE inbox_id IS NOT NULL;
CREATE TABLE preview (inbox_id INTEGER PRIMARY KEY, target TEXT NOT NULL, message_id TEXT NOT NULL);
CREATE TABLE pairing (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    sender_id TEXT NOT NULL,
    name TEXT,
    code TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, sender_id)
  ) WITHOUT ROWID;
CREATE TABLE paired (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    sender_id TEXT NOT NULL,
    name TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, sender_id)
  ) WITHOUT ROWID;
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    session_key TEXT NOT NULL,
    at INTEGER NOT NULL,
    result TEXT NOT NULL,
    receipt TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cost REAL NOT NULL
  );
CREATE INDEX runs_at ON runs (at);
CREATE TABLE allowed (
    agent TEXT NOT NULL,
    command TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent, command)
  ) WITHOUT ROWID;
CREATE TABLE kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE texts (key TEXT PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL);
CREATE INDEX texts_at ON texts (at);
CREATE INDEX inbox_run ON inbox (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX runs_session ON runs (session_key, at);
CREATE INDEX inbox_message ON inbox (json_extract(message, '$.id'));
CREATE INDEX inbox_again ON inbox (again_of) WHERE again_of IS NOT NULL;
CREATE INDEX outbox_message ON outbox (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX outbox_failed ON outbox (id) WHERE state = 'failed';
CREATE INDEX outbox_gap ON outbox (id) WHERE gap IS NOT NULL;
INSERT INTO inbox (id, message, state, session_key, run_id, turn_id, attempts, claimed_boot, outcome, done_at, accepted_at, claimed_at, refused, again_of) VALUES (1, '{"id":"m1","eventKey":"e1","from":{"channel":"telegram","account":"default","chat":{"id":"7","kind":"direct"}},"sender":{"id":"7","name":"Ann"},"text":"hello","media":[],"mentionsBot":true,"receivedAt":1750000000000}', 'done', 'agent:main:main', 'r1', 't1', 1, 'boot-1', '{"kind":"replied"}', 1750000000000, 1750000000000, 1750000000000, NULL, NULL);
INSERT INTO inbox (id, message, state, session_key, run_id, turn_id, attempts, claimed_boot, outcome, done_at, accepted_at, claimed_at, refused, again_of) VALUES (2, '{"id":"m2","eventKey":"e2","from":{"channel":"telegram","account":"default","chat":{"id":"7","kind":"direct"}},"sender":{"id":"7","name":"Ann"},"text":"what''s up","media":[],"mentionsBot":true,"receivedAt":1750000000000}', 'accepted', NULL, NULL, NULL, 0, NULL, NULL, NULL, 1750000000000, NULL, NULL, NULL);
INSERT INTO inbox (id, message, state, session_key, run_id, turn_id, attempts, claimed_boot, outcome, done_at, accepted_at, claimed_at, refused, again_of) VALUES (3, '{"id":"m3","eventKey":"e3","from":{"channel":"telegram","account":"default","chat":{"id":"7","kind":"direct"}},"sender":{"id":"7","name":"Ann"},"text":"old news","media":[],"mentionsBot":true,"receivedAt":1750000000000}', 'done', NULL, NULL, NULL, 0, NULL, '{"kind":"dropped","why":"stale: 3 hours"}', 1750000000000, 1750000000000, NULL, NULL, NULL);
INSERT INTO seen (channel, account, event_key, inbox_id, at, times, last_at) VALUES ('telegram', 'default', 'e1', 1, 1750000000000, 1, NULL);
INSERT INTO seen (channel, account, event_key, inbox_id, at, times, last_at) VALUES ('telegram', 'default', 'e2', 2, 1750000000000, 1, NULL);
INSERT INTO seen (channel, account, event_key, inbox_id, at, times, last_at) VALUES ('telegram', 'default', 'e3', 3, 1750000000000, 1, NULL);
INSERT INTO outbox (id, reply_key, part, inbox_id, target, body, reply_to, buttons, state, attempts, message_id, edit_of, error, created_at, sent_at, retried_at, was_unknown, is_repeat, silent, gap) VALUES (1, 'k1', 0, 1, '{"channel":"telegram","account":"default","chat":{"id":"7","kind":"direct"}}', '{"kind":"text","body":"hi","format":"plain","plain":"hi"}', NULL, NULL, 'planned', 0, NULL, NULL, NULL, 1750000000000, NULL, NULL, 0, 0, 0, NULL);
INSERT INTO allowed (agent, command, at) VALUES ('main', 'ls', 1750000000000);
INSERT INTO kept (key, value) VALUES ('adopted', 'yes');
INSERT INTO texts (key, text, at) VALUES ('55a9a503848244c61c337f04abb3b2fc', 'a system prompt', 1750000000000);
PRAGMA user_version = 6;
