// node hist.mjs N [N...]     latency by transcript length. For each N: empty state, a generated session of N prior messages
// (N/2 user + N/2 assistant, about 400 bytes each) for DM 8001 in the JSONL v3 format, then 12 real messages (first 2 dropped).
// env: IMPORT_CMD  command run after the files are written (e.g. OpenClaw 2026.9: "<bin> doctor --session-sqlite import --session-sqlite-all-agents")
//      COUNT (12)  GAP (1200 ms)  SESSION_KEY (telegram:default:8001)  SESSIONS_DIR (sessions, under the state directory)
//      OpenClaw: SESSION_KEY=agent:main:telegram:direct:8001 SESSIONS_DIR=agents/main/sessions
import fs from "node:fs";
import crypto from "node:crypto";
import { spawnSync } from "node:child_process";
import * as L from "../lib.mjs";
const KEY = process.env.SESSION_KEY || "telegram:default:8001",
  COUNT = +(process.env.COUNT || 12),
  GAP = +(process.env.GAP || 1200);
const lorem =
  "the quick brown fox jumps over the lazy dog while the gateway keeps every line of the talk in order and ";
function generate(n) {
  const dir = L.STATE + "/" + (process.env.SESSIONS_DIR || "sessions");
  fs.mkdirSync(dir, { recursive: true });
  const sid = crypto.randomUUID(),
    file = `${dir}/${sid}.jsonl`,
    now = Date.now(),
    out = [];
  let parent = null,
    k = 0;
  const put = (o) => {
    const id = (++k).toString(16).padStart(8, "0");
    out.push(JSON.stringify({ ...o, id, parentId: parent }));
    parent = id;
  };
  out.push(
    JSON.stringify({
      type: "session",
      version: 3,
      id: sid,
      timestamp: new Date(now - n * 1000 - 5000).toISOString(),
      cwd: L.HOME + "/.openclaw/workspace",
    }),
  );
  put({
    type: "model_change",
    timestamp: new Date(now - n * 1000 - 4000).toISOString(),
    provider: "fake",
    modelId: "fake-1",
  });
  put({
    type: "thinking_level_change",
    timestamp: new Date(now - n * 1000 - 4000).toISOString(),
    thinkingLevel: "off",
  });
  for (let i = 0; i < n; i++) {
    const t = now - (n - i) * 1000,
      ts = new Date(t).toISOString(),
      text = `line ${i}: ` + lorem.repeat(4).slice(0, 390);
    put({
      type: "message",
      timestamp: ts,
      message:
        i % 2 === 0
          ? { role: "user", content: [{ type: "text", text }], timestamp: t }
          : {
              role: "assistant",
              content: [{ type: "text", text }],
              api: "openai-completions",
              provider: "fake",
              model: "fake-1",
              usage: {
                input: 1000,
                output: 100,
                cacheRead: 0,
                cacheWrite: 0,
                totalTokens: 1100,
                cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
              },
              stopReason: "stop",
              timestamp: t,
            },
    });
  }
  fs.writeFileSync(file, out.join("\n") + "\n");
  fs.writeFileSync(
    dir + "/sessions.json",
    JSON.stringify(
      {
        [KEY]: {
          sessionId: sid,
          updatedAt: now,
          sessionStartedAt: now - n * 1000,
          lastInteractionAt: now,
          systemSent: true,
          chatType: "direct",
          sessionFile: file,
          origin: {
            label: "U8001",
            provider: "telegram",
            surface: "telegram",
            chatType: "direct",
            from: "telegram:8001",
            to: "telegram:8001",
            accountId: "default",
          },
          deliveryContext: { channel: "telegram", to: "telegram:8001", accountId: "default" },
          lastChannel: "telegram",
          lastTo: "telegram:8001",
          lastAccountId: "default",
        },
      },
      null,
      2,
    ),
  );
  return fs.statSync(file).size;
}
await L.startFakes();
for (const n of process.argv.slice(2).map(Number)) {
  L.mkConfig();
  const bytes = generate(n);
  let importS = null;
  if (process.env.IMPORT_CMD) {
    const c = process.env.IMPORT_CMD.split(" "),
      t = L.nowNs();
    const r = spawnSync(c[0], c.slice(1), { env: L.gwEnv(), encoding: "utf8", timeout: 120000 });
    importS = L.r1(L.ms(t, L.nowNs()) / 1000);
    console.error((r.stdout + r.stderr).slice(-600), "rc", r.status);
  }
  const g = await L.startGateway();
  await L.sleep(3000);
  const rows = [];
  let c0;
  try {
    for (let i = 0; i < COUNT; i++) {
      if (i === 2) c0 = L.cpu(g.child.pid);
      const r = await L.roundTrip(8001, "", 120000);
      rows.push(r);
      if (!r.tReply && i < 2) throw new Error("no reply");
      await L.sleep(GAP);
    }
    const c1 = L.cpu(g.child.pid),
      j = await L.join(rows),
      m = L.mem(g.child.pid);
    L.save("hist", {
      n,
      transcriptBytes: bytes,
      importS,
      start: { healthz: g.healthz, poll: g.poll },
      first: { pre: L.r1(j[0].pre), post: L.r1(j[0].post) },
      ...L.summarize(j.slice(2)),
      cpuMsPerMsg: L.r1(((c1 - c0) * 1000) / (COUNT - 2)),
      rssMiB: m.rssMiB,
      pssMiB: m.pssMiB,
    });
  } catch (e) {
    console.error("n=" + n, e.message);
    L.save("hist", { n, error: e.message });
  }
  await L.stopGateway(g);
}
await L.stopAll();
process.exit(0);
