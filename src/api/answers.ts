import type { z } from "zod";
import { agentsAnswers } from "../types/answers/agents.ts";
import { approvalAnswers } from "../types/answers/approvals.ts";
import { channelAnswers, sendAnswer } from "../types/answers/channels.ts";
import { chatAnswers, commandsAnswer } from "../types/answers/chat.ts";
import { configAnswers, preflightAnswer } from "../types/answers/config.ts";
import { importAnswers } from "../types/answers/import.ts";
import { keyAnswers } from "../types/answers/keys.ts";
import { memoryAnswers } from "../types/answers/memory.ts";
import { messageAnswers } from "../types/answers/messages.ts";
import { ownerAnswers } from "../types/answers/owners.ts";
import { pairingAnswers } from "../types/answers/pairing.ts";
import { pluginAnswers } from "../types/answers/plugins.ts";
import { pushAnswers } from "../types/answers/push.ts";
import { setupAnswers } from "../types/answers/setup.ts";
import { skillAnswers } from "../types/answers/skills.ts";
import { systemAnswers } from "../types/answers/system.ts";
import { toolAnswers } from "../types/answers/tools.ts";
import { usageAnswers } from "../types/answers/usage.ts";
import { cronAnswers } from "../types/cron/answers.ts";
import { logTail, modelsAnswer, statusAnswer } from "../types/gateway-status.ts";
import type { Answer } from "../types/method.ts";
import { sessionHits } from "../types/subagent/search.ts";
import { branchAnswers } from "../types/answers/branches.ts";
import { runAnswers } from "../types/answers/runs.ts";
import { sessionAnswers } from "../types/session.ts";

/** The shapes of the answers that the chat page reads, by method: each is the `result` of the gateway's method. */
export const ANSWERS = {
  "agent.identity.get": agentsAnswers.identity,
  "agents.create": agentsAnswers.create,
  "agents.delete": agentsAnswers.delete,
  "agents.files.get": agentsAnswers.file,
  "agents.files.list": agentsAnswers.files,
  "agents.files.set": agentsAnswers.fileSet,
  "agents.list": agentsAnswers.list,
  "agents.update": agentsAnswers.update,
  "channels.add": channelAnswers.edited,
  "channels.capabilities": channelAnswers.capabilities,
  "channels.enable": channelAnswers.edited,
  "channels.login.cancel": channelAnswers.cancelled,
  "channels.login.start": channelAnswers.login,
  "channels.login.wait": channelAnswers.login,
  "channels.logout": channelAnswers.logout,
  "channels.probe": channelAnswers.probe,
  "channels.remove": channelAnswers.edited,
  "channels.setups": channelAnswers.setups,
  "channels.status": channelAnswers.status,
  "chat.abort": chatAnswers.abort,
  "chat.history": sessionAnswers.history,
  "chat.inject": chatAnswers.inject,
  "chat.send": chatAnswers.send,
  "commands.list": commandsAnswer,
  "config.apply": configAnswers.apply,
  "config.get": configAnswers.get,
  "config.patch": configAnswers.patch,
  "config.schema": configAnswers.schema,
  "config.schema.lookup": configAnswers.lookup,
  "cron.add": cronAnswers.add,
  "cron.list": cronAnswers.list,
  "cron.remove": cronAnswers.remove,
  "cron.run": cronAnswers.run,
  "cron.runs": cronAnswers.runs,
  "cron.status": cronAnswers.status,
  "cron.update": cronAnswers.update,
  "doctor.memory.status": memoryAnswers.status,
  "doctor.run": systemAnswers.doctor,
  "exec.approval.list": approvalAnswers.list,
  "plugin.approval.list": approvalAnswers.list,
  "exec.approval.resolve": approvalAnswers.resolve,
  "exec.approvals.get": approvalAnswers.document,
  "exec.approvals.set": approvalAnswers.document,
  "gateway.restart.preflight": preflightAnswer,
  "inbox.drop": messageAnswers.done,
  "inbox.list": messageAnswers.inboxList,
  "inbox.retry": messageAnswers.done,
  "logs.tail": logTail,
  "models.authLogout": keyAnswers.logout,
  "models.authStatus": keyAnswers.status,
  "models.list": modelsAnswer,
  "models.probe": keyAnswers.probe,
  "memory.forget": memoryAnswers.forget,
  "memory.note": memoryAnswers.note,
  "memory.notes": memoryAnswers.notes,
  "openclaw.import.detect": importAnswers.detect,
  "openclaw.import.start": importAnswers.start,
  "openclaw.setup.activate": setupAnswers.activate,
  "openclaw.setup.detect": setupAnswers.detect,
  "openclaw.setup.verify": setupAnswers.verify,
  "outbox.drop": messageAnswers.done,
  "outbox.list": messageAnswers.outboxList,
  "outbox.retry": messageAnswers.done,
  "owners.add": ownerAnswers.changed,
  "owners.list": ownerAnswers.list,
  "owners.remove": ownerAnswers.changed,
  "pairing.approve": pairingAnswers.approve,
  "pairing.list": pairingAnswers.list,
  "pairing.reject": pairingAnswers.reject,
  "pairing.revoke": pairingAnswers.revoke,
  "plugins.list": pluginAnswers.list,
  "plugins.loaded": pluginAnswers.loaded,
  "plugins.retry": pluginAnswers.retry,
  "plugins.setEnabled": pluginAnswers.setEnabled,
  "policy.explain": toolAnswers.explain,
  "push.web.preferences.get": pushAnswers.preferencesGet,
  "push.web.preferences.set": pushAnswers.preferencesSet,
  "push.web.subscribe": pushAnswers.subscribe,
  "push.web.test": pushAnswers.test,
  "push.web.unsubscribe": pushAnswers.unsubscribe,
  "push.web.vapidPublicKey": pushAnswers.vapidPublicKey,
  "runs.get": runAnswers.get,
  "runs.prompt": runAnswers.prompt,
  send: sendAnswer,
  "sessions.branches.versions": branchAnswers.versions,
  "sessions.branches.switch": branchAnswers.switch,
  "sessions.create": sessionAnswers.create,
  "sessions.delete": sessionAnswers.delete,
  "sessions.describe": sessionAnswers.describe,
  "sessions.fork": branchAnswers.fork,
  "sessions.list": sessionAnswers.list,
  "sessions.patch": sessionAnswers.patch,
  "sessions.queue": messageAnswers.queue,
  "sessions.resolve": sessionAnswers.resolve,
  "sessions.rewind": branchAnswers.rewind,
  "sessions.search": sessionHits,
  "sessions.subscribe": sessionAnswers.subscribe,
  "sessions.usage": usageAnswers.sessions,
  "skills.search": skillAnswers.search,
  "skills.status": skillAnswers.status,
  "skills.update": skillAnswers.update,
  status: statusAnswer,
  "system.growth": systemAnswers.growth,
  "system.info": systemAnswers.info,
  "tools.catalog": toolAnswers.catalog,
  "tools.invoke": toolAnswers.invoke,
  "update.history": systemAnswers.update,
  "usage.cost": usageAnswers.cost,
  "usage.status": usageAnswers.status,
} as const;

/** Answers as a client gets them, by method. What has a default in the shape may be missing. */
export type Answers = { readonly [Method in keyof typeof ANSWERS]: Answer<z.input<(typeof ANSWERS)[Method]>> };
