/** A step from one version of the schema to a later one. */
export interface Migration {
  readonly from: number;
  readonly to: number;
  /**
   * Whether a program that knows only the version before still works with the journal: the step adds tables, indexes that are not
   * unique, and columns that may be left out. Every step from the first release on should be one.
   */
  readonly isAdditive: boolean;
  readonly sql: string;
}

/** All tables of the first release, as a new journal gets them. */
const FIRST_RELEASE = `
  CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('accepted', 'claimed', 'done')),
    session_key TEXT,
    agent TEXT,
    run_id TEXT,
    turn_id TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    claimed_boot TEXT,
    starts TEXT,
    outcome TEXT,
    refused TEXT,
    accepted_at INTEGER,
    claimed_at INTEGER,
    done_at INTEGER,
    again_of INTEGER,
    reports_to TEXT,
    works_in TEXT
  );
  CREATE INDEX inbox_open ON inbox (id) WHERE state <> 'done';
  CREATE INDEX inbox_done ON inbox (done_at) WHERE state = 'done';
  CREATE INDEX inbox_run ON inbox (run_id) WHERE run_id IS NOT NULL;
  CREATE INDEX inbox_message ON inbox (json_extract(message, '$.id'));
  CREATE INDEX inbox_again ON inbox (again_of) WHERE again_of IS NOT NULL;
  CREATE INDEX inbox_stale ON inbox (done_at) WHERE state = 'done' AND instr(outcome, '"why":"stale: ') > 0;
  CREATE INDEX inbox_unreadable ON inbox (done_at) WHERE state = 'done' AND instr(outcome, '"why":"unreadable: ') > 0;
  CREATE INDEX inbox_refused ON inbox (done_at) WHERE state = 'done' AND refused IS NOT NULL;
  CREATE INDEX inbox_at_work ON inbox (works_in, reports_to) WHERE state <> 'done' AND reports_to IS NOT NULL;
  CREATE INDEX inbox_tasks ON inbox (id) WHERE message ->> '$.options.kind' IN ('cron', 'subagent', 'hook');

  CREATE TABLE seen (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    event_key TEXT NOT NULL,
    inbox_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    times INTEGER NOT NULL DEFAULT 1,
    last_at INTEGER,
    PRIMARY KEY (channel, account, event_key)
  ) WITHOUT ROWID;
  CREATE INDEX seen_at ON seen (at);

  CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    reply_key TEXT NOT NULL,
    part INTEGER NOT NULL,
    inbox_id INTEGER,
    target TEXT NOT NULL,
    body TEXT NOT NULL,
    reply_to TEXT,
    answers TEXT,
    buttons TEXT,
    silent INTEGER NOT NULL DEFAULT 0,
    edit_of TEXT,
    state TEXT NOT NULL CHECK (state IN ('planned', 'sending', 'sent', 'unknown', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    send_key TEXT,
    message_id TEXT,
    was_unknown INTEGER NOT NULL DEFAULT 0,
    is_repeat INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    gap TEXT,
    created_at INTEGER NOT NULL,
    sent_at INTEGER,
    retried_at INTEGER,
    UNIQUE (reply_key, part)
  );
  CREATE INDEX outbox_open ON outbox (id) WHERE state IN ('planned', 'sending', 'unknown');
  CREATE INDEX outbox_of ON outbox (inbox_id) WHERE inbox_id IS NOT NULL;
  CREATE INDEX outbox_message ON outbox (message_id) WHERE message_id IS NOT NULL;
  CREATE INDEX outbox_failed ON outbox (id) WHERE state = 'failed';
  CREATE INDEX outbox_failed_at ON outbox (created_at) WHERE state = 'failed';
  CREATE INDEX outbox_ended ON outbox (max(created_at, coalesce(retried_at, 0))) WHERE state IN ('sent', 'failed');
  CREATE INDEX outbox_gap ON outbox (id) WHERE gap IS NOT NULL;

  CREATE TABLE preview (inbox_id INTEGER PRIMARY KEY, target TEXT NOT NULL, message_id TEXT NOT NULL);
  CREATE TABLE preview_length (inbox_id INTEGER PRIMARY KEY, characters INTEGER NOT NULL);

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
  CREATE TABLE turned_away (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    sender_id TEXT NOT NULL,
    name TEXT,
    had_code INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, sender_id)
  ) WITHOUT ROWID;

  CREATE TABLE sessions (key TEXT PRIMARY KEY, row TEXT, exported TEXT, CHECK (row IS NOT NULL OR exported IS NOT NULL));
  CREATE TABLE system_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_key TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    turn_id TEXT
  );
  CREATE INDEX system_events_of ON system_events (session_key, id);
  CREATE INDEX system_events_at ON system_events (at);
  CREATE TABLE received (
    session_key TEXT NOT NULL,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session_key, name)
  ) WITHOUT ROWID;
  CREATE INDEX received_at ON received (at);

  CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    session_key TEXT NOT NULL,
    agent TEXT,
    at INTEGER NOT NULL,
    result TEXT NOT NULL,
    receipt TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cost REAL NOT NULL
  );
  CREATE INDEX runs_at ON runs (at);
  CREATE INDEX runs_session ON runs (session_key, at);
  CREATE INDEX runs_agent ON runs (agent, at);

  CREATE TABLE cron_jobs (
    id TEXT PRIMARY KEY,
    job TEXT NOT NULL,
    state TEXT NOT NULL,
    agent TEXT GENERATED ALWAYS AS (job ->> 'agentId') VIRTUAL
  );
  CREATE TABLE cron_runs (
    event_key TEXT PRIMARY KEY,
    job_id TEXT NOT NULL,
    agent TEXT,
    run_id TEXT,
    ts INTEGER NOT NULL,
    status TEXT NOT NULL,
    delivery TEXT NOT NULL,
    session_key TEXT,
    record TEXT NOT NULL
  );
  CREATE INDEX cron_runs_of ON cron_runs (job_id, ts);
  CREATE INDEX cron_runs_at ON cron_runs (ts);
  CREATE INDEX cron_runs_session ON cron_runs (session_key) WHERE session_key IS NOT NULL;
  CREATE INDEX cron_runs_agent ON cron_runs (agent, ts);

  CREATE TABLE model_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL CHECK (state IN ('held', 'settled', 'void', 'unknown')),
    boot TEXT NOT NULL,
    at INTEGER NOT NULL,
    ended_at INTEGER,
    day TEXT NOT NULL,
    cause TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    profile TEXT NOT NULL,
    plugin TEXT,
    agent TEXT,
    session_key TEXT,
    run_id TEXT,
    root TEXT,
    root_session TEXT,
    job TEXT,
    sender TEXT,
    is_priced INTEGER NOT NULL,
    held_tokens INTEGER NOT NULL,
    held_cost REAL NOT NULL,
    held_input INTEGER NOT NULL,
    held_output INTEGER NOT NULL,
    input INTEGER,
    output INTEGER,
    cache_read INTEGER,
    cache_write INTEGER,
    cost REAL,
    is_estimate INTEGER
  );
  CREATE INDEX model_calls_open ON model_calls (id) WHERE state = 'held';
  CREATE INDEX model_calls_run ON model_calls (run_id, id) WHERE run_id IS NOT NULL;
  CREATE INDEX model_calls_session ON model_calls (session_key, id) WHERE session_key IS NOT NULL;
  CREATE INDEX model_calls_at ON model_calls (at);

  CREATE TABLE spend (
    scope TEXT NOT NULL,
    period TEXT NOT NULL,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0,
    input INTEGER NOT NULL DEFAULT 0,
    output INTEGER NOT NULL DEFAULT 0,
    cache_read INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    cost REAL NOT NULL DEFAULT 0,
    unknown_tokens INTEGER NOT NULL DEFAULT 0,
    unknown_cost REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, period, name)
  ) WITHOUT ROWID;
  CREATE INDEX spend_tree_at ON spend (at) WHERE scope = 'run';
  CREATE INDEX spend_at ON spend (at);
  CREATE TABLE spend_raises (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    period TEXT NOT NULL,
    at INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    usd REAL NOT NULL,
    PRIMARY KEY (scope, name, period)
  ) WITHOUT ROWID;
  CREATE INDEX spend_raises_at ON spend_raises (at);

  CREATE TABLE kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE texts (key TEXT PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL);
  CREATE INDEX texts_at ON texts (at);
`;

/**
 * The steps that exist; a new journal has version 0. Never change one that was released: its change is a new step at
 * the end, from the version before. The versions before the first release are in docs/decisions/0065-one-schema.md.
 */
export const MIGRATIONS: readonly Migration[] = [
  { from: 0, to: 22, isAdditive: false, sql: FIRST_RELEASE },
  {
    from: 18,
    to: 21,
    isAdditive: false,
    sql: `
    ALTER TABLE outbox ADD COLUMN send_key TEXT;
    ALTER TABLE outbox ADD COLUMN answers TEXT;
    CREATE INDEX inbox_unreadable ON inbox (done_at) WHERE state = 'done' AND instr(outcome, '"why":"unreadable: ') > 0;
    `,
  },
  { from: 21, to: 22, isAdditive: false, sql: "DROP TABLE allowed" },
  {
    from: 22,
    to: 23,
    // No release had an earlier version.
    isAdditive: false,
    sql: `
    ALTER TABLE spend ADD COLUMN input_cost REAL NOT NULL DEFAULT 0;
    ALTER TABLE spend ADD COLUMN output_cost REAL NOT NULL DEFAULT 0;
    ALTER TABLE spend ADD COLUMN cache_read_cost REAL NOT NULL DEFAULT 0;
    ALTER TABLE spend ADD COLUMN cache_write_cost REAL NOT NULL DEFAULT 0;
    ALTER TABLE spend ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
    `,
  },
];

/** The version whose rows name the state directory by its path. Later versions name it as `own-path.ts` does. */
export const PATHS_VERSION = 18;

/** The version that this program writes. */
export const SCHEMA_VERSION = Math.max(...MIGRATIONS.map(({ to }) => to));

/** The oldest version whose program works with a journal of `SCHEMA_VERSION`. */
export const OPENS_FROM = oldestThatOpens(SCHEMA_VERSION);

function oldestThatOpens(version: number): number {
  const step = MIGRATIONS.find(({ to, isAdditive }) => to === version && isAdditive);
  return step ? oldestThatOpens(step.from) : version;
}
